//! Histories of clusters of the second dialect: the same promises, where a name comes back with a new member.

use simulator::{Fact, Plan};

use super::{ALL, DOUBTED, check, history, seeds};

#[test]
fn no_history_of_the_second_dialect_breaks_a_promise() {
    let seeds = seeds(DOUBTED);
    check(&seeds, Plan::with_numbered_members, ALL);
    eprintln!("{} histories of the second dialect", seeds.len());
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
                deed: simulator::Deed::Added(name),
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
