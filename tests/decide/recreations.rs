//! Histories in which the EtcdCluster is deleted and made again under its name, while what it owned is still being collected.

use simulator::{History, Plan};

use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn no_cluster_that_is_made_again_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_recreations, Court::All);
    eprintln!(
        "{} histories in which the cluster is deleted and made again",
        seeds.len()
    );
}

/// Else the promise would be kept because nothing of the old cluster is ever in the way of the next.
#[test]
fn what_is_still_collected_is_in_the_way() {
    let (mut waited, mut whole) = (0, 0);
    for seed in 1..=100 {
        let History { end, words, .. } = history(&Plan::with_recreations(seed), true);
        waited += u32::from(words.iter().any(|line| line.contains("is collected")));
        whole += u32::from(end.rested && end.truth.confirmed);
    }
    eprintln!(
        "of 100 histories {waited} have objects that are collected, {whole} come to a whole cluster"
    );
    assert!(waited > 60 && whole > 50);
}
