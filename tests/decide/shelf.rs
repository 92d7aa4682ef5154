//! Lives of periodic backups whose newest is tried by restoring it: no proof without a restored member, and nothing left.

use contract::RehearsalVerdict;
use simulator::{Shelved, keep};

use super::number;

/// Of so many histories of clusters one life of a backup is lived through.
const LIVES: u64 = if cfg!(debug_assertions) { 60 } else { 2_000 };

/// What is wrong with one life.
fn wrong(seed: u64) -> Option<String> {
    let shelf = keep(seed, &mut reconciler::reconcile);
    let bad = shelf.facts.iter().find(|fact| match fact {
        Shelved::Refused(_) => true,
        Shelved::Told { verdict, held } => match verdict {
            RehearsalVerdict::Restores => *held != Some(true),
            RehearsalVerdict::DoesNot => *held != Some(false),
            RehearsalVerdict::NotTried => false,
        },
        Shelved::Deleted {
            newest,
            rehearsed,
            restored,
        } => *newest || *rehearsed || *restored,
    });
    if let Some(bad) = bad {
        return Some(format!("seed {seed}: {bad:?}"));
    }
    let status = &shelf.status;
    let tried = status.rehearsal.as_ref().map(|last| &last.sha256);
    let is_over = status.rehearsal_run.is_none() && shelf.pods == 0;
    (!is_over || tried != status.sha256.as_ref() || tried.is_none())
        .then(|| format!("seed {seed}: {} pods are left, {status:?}", shelf.pods))
}

#[test]
fn a_proof_is_a_restored_member_and_nothing_of_it_stays() {
    let first = number("SIMULATOR_FIRST_SEED", 1);
    let found: Vec<String> = (first..first + LIVES).filter_map(wrong).collect();
    eprintln!("{LIVES} lives of backups that are tried");
    assert_eq!(found, Vec::<String>::new());
}

/// Else the promise would hold of nothing.
#[test]
fn lives_have_proofs_damage_and_deletions() {
    let (mut proofs, mut damaged, mut untried, mut deleted) = (0, 0, 0, 0);
    for seed in 1..=20 {
        for fact in keep(seed, &mut reconciler::reconcile).facts {
            match fact {
                Shelved::Told { verdict, .. } => match verdict {
                    RehearsalVerdict::Restores => proofs += 1,
                    RehearsalVerdict::DoesNot => damaged += 1,
                    RehearsalVerdict::NotTried => untried += 1,
                },
                Shelved::Deleted { .. } => deleted += 1,
                Shelved::Refused(_) => {}
            }
        }
    }
    eprintln!(
        "in 20 lives {proofs} proofs, {damaged} backups that do not restore, {untried} that could not be tried, {deleted} \
         deleted"
    );
    assert!(proofs > 20 && damaged > 5 && untried > 5 && deleted > 20);
}
