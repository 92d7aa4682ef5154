//! Histories in which volumes are to be of other sizes, and cannot grow for a while.

use simulator::{Fault, Plan};

use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn no_other_size_of_volumes_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_sizes, Court::All);
    eprintln!("{} histories with volumes of other sizes", seeds.len());
}

/// Else the promises would hold because no volume is ever asked to grow, or none is refused.
#[test]
fn volumes_grow_and_are_kept_from_it() {
    let (mut grown, mut refused) = (0, 0);
    for seed in 1..=100 {
        let plan = Plan::with_sizes(seed);
        let is_edited = plan
            .faults
            .iter()
            .any(|one| matches!(one.fault, Fault::Storage(2..)));
        let words = history(&plan, true).words;
        let says = |what: &str| words.iter().any(|line| line.contains(what));
        grown += u32::from(is_edited && says("VolumeGrowing"));
        refused += u32::from(says("VolumeNotGrown"));
    }
    eprintln!("in {grown} of 100 histories volumes grow, in {refused} they are kept from it");
    assert!(grown > 20 && refused > 5);
}
