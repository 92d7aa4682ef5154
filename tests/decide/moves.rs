//! Histories in which the images move from repository to repository, and are gone where they were.

use simulator::{Deed, Fact, Fault, Plan};

use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn no_move_to_another_repository_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_moves, Court::All);
    eprintln!("{} histories with moves of the images", seeds.len());
}

/// Else the promises would hold because nobody needs an image from where it is gone.
#[test]
fn members_are_given_images_from_where_they_are() {
    let (mut moved, mut gone) = (0, 0);
    for seed in 1..=100 {
        let plan = Plan::with_moves(seed);
        let is_move = |fact: &Fact| {
            let Fact::Deed {
                deed: Deed::Restarted(name),
                before,
                ..
            } = fact
            else {
                return false;
            };
            let mut members = before.members.iter();
            members.any(|one| one.name == *name && one.repository != Some(before.repository))
        };
        moved += u32::from(history(&plan, false).facts.iter().any(is_move));
        gone += u32::from(
            plan.faults
                .iter()
                .any(|one| matches!(one.fault, Fault::RegistryGone(_)) && one.lasts == 0),
        );
    }
    eprintln!(
        "in {moved} of 100 histories a member gets its image from elsewhere, in {gone} one place has none for good"
    );
    assert!(moved > 20 && gone > 20);
}
