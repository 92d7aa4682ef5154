//! The refusals of effects on backups, in words.

use std::fmt;

use super::BackupRefusal;

impl fmt::Display for BackupRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherKind { effect, kind } => {
                write!(f, "{effect} is no effect of the kind {kind}")
            }
            Self::ForeignCluster(name) => write!(
                f,
                "EtcdCluster {name} is not one that this restore describes and may make now"
            ),
            Self::ForeignKey(key) => write!(f, "{key:?} is not a name that this backup gives"),
            Self::ForeignEndpoint(url) => write!(f, "{url} is not an endpoint of this backup"),
            Self::ForeignFinalizer(name) => {
                write!(f, "the finalizer {name} is not to be taken away")
            }
            Self::Time(within) => write!(f, "a transfer cannot be given {} ms", within.0),
            Self::UnderWay(run) => write!(f, "the run {run} of this backup is under way"),
            Self::Unrecorded(run) => write!(f, "the status does not hold the run {run}"),
            Self::Newest(key) => write!(f, "{key} is the newest backup there is, which stays"),
            Self::NotStored(key) => write!(f, "{key} is not in the store"),
            Self::Unproven(path) => write!(f, "{path:?} was not read whole for this restore"),
            Self::Kept(key) => write!(f, "spec.backupPolicy keeps {key}"),
            Self::Stored(key) => write!(f, "{key} is stored already, and is not written over"),
            Self::Untrue(key) => write!(
                f,
                "{key:?} does not say which revision the member has and what time it is"
            ),
            Self::ForeignImage(image) => {
                write!(
                    f,
                    "{image} is no image that a rehearsal of this backup runs"
                )
            }
            Self::Rehearsed(key) => write!(f, "it is being tried whether {key} restores"),
            Self::NotTried(why) => write!(f, "whether the backup restores is not tried now: {why}"),
            Self::BeingRestored { key, by } => {
                write!(
                    f,
                    "{by} may still read {key}, which stays until that is over"
                )
            }
            Self::NotScheduled { name, why } => write!(f, "EtcdBackup {name}: {why}"),
            Self::Forgotten => {
                f.write_str("the status holds a success, which a backup taken once keeps")
            }
        }
    }
}
