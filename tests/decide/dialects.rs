//! Histories of clusters of the second dialect: the same promises, where a name comes back with a new member.

use simulator::{Deed, Fact, Plan};

use super::{Court, DOUBTED, check, history, seeds};

#[test]
fn no_history_of_the_second_dialect_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_numbered_members, Court::All);
    eprintln!("{} histories of the second dialect", seeds.len());
}

/// No acknowledged write of the deleted cluster is lost, and where no disk was, the one that is made again goes on with them.
#[test]
fn what_a_deleted_cluster_left_is_taken_up_with_its_data() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_claims_that_stay, Court::Safety);
    let whole = |seed| Plan::with_claims_that_stay(seed).without_lost_disks();
    check(&seeds, whole, Court::Formed);
    let (mut taken, mut kept) = (0, 0);
    for seed in 1..=100 {
        let history = history(&whole(seed), false);
        let is_taking = |fact: &Fact| matches!(fact, Fact::Deed { deed, .. } if *deed == Deed::Wrote("TakeUpClaim"));
        let is_taken = history.facts.iter().any(is_taking);
        taken += u32::from(is_taken);
        kept += u32::from(is_taken && history.end.truth.confirmed);
    }
    eprintln!(
        "twice {} histories with claims that stay; of 100 {taken} take them up, {kept} end with a quorum",
        seeds.len()
    );
    assert!(taken > 60 && kept > 50);
}

/// Else they would be histories of the first one.
#[test]
fn its_members_are_numbered_and_numbers_come_back() {
    let mut again = 0;
    for seed in 1..=100 {
        let facts = history(&Plan::with_numbered_members(seed), false).facts;
        let mut added: Vec<String> = Vec::new();
        for fact in &facts {
            let Fact::Deed {
                deed: Deed::Added(name),
                ..
            } = fact
            else {
                continue;
            };
            let number = name
                .rsplit_once('-')
                .and_then(|(_, number)| number.parse::<u8>().ok());
            assert!(number.is_some_and(|number| number < 10), "{name}");
            again += u32::from(added.contains(name));
            added.push(name.clone());
        }
    }
    eprintln!("{again} times a number came back in 100 histories");
    assert!(again > 0);
}

/// Members of the archived operator come over one after the other; meanwhile clients write.
#[test]
fn what_the_archived_operator_kept_is_taken_over_and_no_promise_is_broken() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_kept_members, Court::All);
    let (mut begun, mut over) = (0, 0);
    for seed in 1..=100 {
        let history = history(&Plan::with_kept_members(seed), false);
        let is_retired = |fact: &Fact| matches!(fact, Fact::Deed { deed, .. } if *deed == Deed::Wrote("TakeUpClaim"));
        begun += u32::from(history.facts.iter().any(is_retired));
        let truth = &history.end.truth;
        over += u32::from(
            truth.confirmed
                && truth
                    .members
                    .iter()
                    .all(|one| truth.pods.contains(&one.name)),
        );
    }
    eprintln!(
        "{} histories of members that are taken over; of 100 {begun} take claims up, {over} end with pods of this operator's alone",
        seeds.len()
    );
    assert!(begun > 80 && over > 60);
}
