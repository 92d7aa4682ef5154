//! Histories in which kubelets end pods for good while a lost quorum is recovered by consent.

use simulator::{Deed, Fact, Plan};

use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn no_eviction_keeps_a_recovery_from_its_end() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_evictions, Court::All);
    eprintln!("{} histories with evictions", seeds.len());
}

/// Else the promise would be kept because the pod that starts alone is never ended.
#[test]
fn survivors_are_evicted_while_they_start_alone() {
    let mut again = 0;
    for seed in 1..=200 {
        let facts = history(&Plan::with_evictions(seed), false).facts;
        let is_alone = |fact: &&Fact| {
            matches!(
                fact,
                Fact::Deed {
                    deed: Deed::StartedAlone(_),
                    ..
                }
            )
        };
        again += u32::from(facts.iter().filter(is_alone).count() > 1);
    }
    eprintln!("in {again} of 200 histories a survivor starts alone more than once");
    assert!(again > 4);
}
