//! Whether a stored backup may be deleted at this moment, by what was read right before.
//!
//! Which ones the spec lets go is judged with the snapshot ([`super::stored`]).

use contract::{BackupKey, BeingRestored, Observed, StoredObject};

use super::{BackupHead, BackupRefusal};
use crate::check::check_clock;
use crate::{Fresh, Refusal};

/// Nothing of the backup is under way, nobody tries it or restores it, its age is told by a clock that is right, and it is not
/// the newest.
pub(super) fn check(key: &str, fresh: &Fresh) -> Result<(), Refusal> {
    let BackupHead {
        run,
        transfer,
        rehearsal,
        taken_along,
        kept_by_age,
    } = &fresh.backup;
    let rehearsed = rehearsal.as_ref().filter(|head| !head.over);
    if rehearsed.is_some_and(|rehearsed| rehearsed.key == key) {
        return Err(BackupRefusal::Rehearsed(key.to_owned()).into());
    }
    if let Some(run) = run.as_ref().or(transfer.as_ref()) {
        return Err(BackupRefusal::UnderWay(run.clone()).into());
    }
    if *kept_by_age && !taken_along {
        check_clock(&fresh.clock_ahead)?;
    }
    check_being_restored(key, &fresh.being_restored)?;
    check_deletion(key, &fresh.stored, *taken_along)
}

/// Whoever restores it may read it to the end: what is not known is read by somebody.
fn check_being_restored(
    key: &str,
    being_restored: &Observed<Vec<BeingRestored>>,
) -> Result<(), Refusal> {
    let unread = |why: &str| Refusal::Unread {
        what: "what is being restored",
        why: why.to_owned(),
    };
    match being_restored {
        Observed::Seen(restored) => match restored.iter().find(|one| one.may_be(key)) {
            Some(BeingRestored { by, key: _ }) => Err(BackupRefusal::BeingRestored {
                key: key.to_owned(),
                by: by.clone(),
            }
            .into()),
            None => Ok(()),
        },
        Observed::Absent => Err(unread("nobody looked")),
        Observed::Unknown(why) => Err(unread(why)),
    }
}

/// The object is there, and one with a higher revision and one that was taken later are there too, unless all shall go.
fn check_deletion(
    key: &str,
    stored: &Observed<Vec<StoredObject>>,
    taken_along: bool,
) -> Result<(), Refusal> {
    let stored = match stored {
        Observed::Seen(stored) => stored,
        Observed::Absent => return Err(BackupRefusal::NotStored(key.to_owned()).into()),
        Observed::Unknown(why) => {
            return Err(Refusal::Unread {
                what: "the store",
                why: why.clone(),
            });
        }
    };
    if !stored.iter().any(|object| object.key == key) {
        return Err(BackupRefusal::NotStored(key.to_owned()).into());
    }
    // What follows the common beginning is compared as the contract takes it apart.
    let prefix = key.rfind("_v").map_or("", |at| &key[..at]);
    let own = BackupKey::of(key, prefix);
    let others: Vec<BackupKey> = stored
        .iter()
        .filter_map(|object| BackupKey::of(&object.key, prefix))
        .collect();
    let is_outlived = own.is_some_and(|own| {
        others.iter().any(|other| *other > own) && others.iter().any(|other| other.is_younger(&own))
    });
    if is_outlived || taken_along {
        Ok(())
    } else {
        Err(BackupRefusal::Newest(key.to_owned()).into())
    }
}
