//! What an action may at most do, whatever module is loaded.
//!
//! Owns the rules between a module's decision and its effects. It knows no module, trusts no snapshot and does no
//! input or output: the host hands it what it read and asks for leave. It shares no code with the reconciler.
//!
//! # Flow
//! 1. [`permit`] judges a whole decision against the snapshot it answers, before anything happens. One refusal
//!    means that no action of that decision is tried.
//! 2. Before each action the host reads what [`reads`] names, and [`check`] judges the action against that [`Fresh`]
//!    read: the preconditions that the module gave, and the envelope's own quorum rule.
//! 3. [`Pace`] counts what one cluster's module tells people over time; the host keeps one for each.
//!
//! # Which preconditions an effect must carry
//! Every action carries `resourceUid`. Further:
//!
//! | effect | preconditions |
//! |---|---|
//! | UpdateStatus | `resourceVersion` |
//! | … that sets `asleepSince` for the first time | `clusterId`, `members` or `healthyVoters`: etcd is asked then, and without its answer it is refused |
//! | Apply | `object`, which is absent for a pod |
//! | … a pod that starts as `new` | `birthToken` |
//! | … a pod that joins (`existing`, with others in its initial cluster) | `clusterId`, `members` |
//! | … a pod that starts as the only member | `recovery`, `claimUid` |
//! | … a pod that fills its disk from a backup | `restore` |
//! | … a pod on a claim that this decision does not make | `claimUid` |
//! | Issue | `object` |
//! | AnnotatePod | `object` (present); with others in the initial cluster also `clusterId`, `members` |
//! | TakeUpClaim | `object` (present) |
//! | RetireReplicaSet | `object` (present), `touches`, `clusterId`, `members`, `healthyVoters` |
//! | DeletePeersClaim | `object` (present), `departed`, `clusterId`, `members` |
//! | ReleasePeer | `departed`, `clusterId`, `members` |
//! | SetImage | `object` (present), `objectVersion`, and `touches`, `clusterId`, `members`, `healthyVoters`, without which it is good only for a pod whose container does not run |
//! | Delete a claim | `object` (present), and `departed` or `birthToken` |
//! | Delete a pod | `object` (present), and one of: `departed`; `birthToken`; `touches`, `clusterId`, `members`, `healthyVoters`; `scaledToZero`, `claimUid`; `scaledToZero`, `departed`; `claimUid` alone, which is good only for a pod that does not run; `recovery`, of the survivor with `claimUid`; `restore`; nothing, which is good only for a pod that has ended and keeps its disk, and for one that would found the cluster anew on an empty disk |
//! | Delete another child | `object` (present) |
//! | AddLearner | `clusterId`, `members`, `healthyVoters` |
//! | Promote | the same; the host asks [`has_received`] once more, of an entry that it appends |
//! | RemoveMember, UpdateMember | `clusterId`, `members`, `healthyVoters` |
//! | MoveLeader | `clusterId`, `members`, `leader` |
//! | Compact, AppendNoop, Disarm, Downgrade | `clusterId`, `members`, `healthyVoters` |
//! | Defragment | `clusterId`, `members`, `healthyVoters`, `touches` |
//! | UpdateBackupStatus | `resourceVersion` |
//! | TakeBackup, VerifyBackup, RehearseRestore, EndRehearsal | `run` |
//! | UpdateRestoreStatus | `resourceVersion` |
//! | ProveSnapshot | `run` |
//! | CreateCluster | none |
//! | UpdateScheduleStatus | `resourceVersion` |
//! | CreateScheduledBackup | `run` |
//! | DeleteScheduledBackup | `object` (present) |
//! | ReleaseScheduleFinalizer | none |
//!
//! A precondition that is given without need is checked all the same. `healthyVoters` counts the votes that are left
//! after the effect, without `touches`. With a `birthToken` the plan in the status stands for the member list.

mod address;
mod arguments;
mod backup;
mod birth;
mod check;
mod child;
mod crowd;
mod decision;
mod fresh;
mod image;
mod issue;
mod pace;
mod peer;
mod pod;
mod preconditions;
mod quorum;
mod quota;
mod refusal;
mod restore;
mod rules;
mod schedule;
mod secrets;
mod status;

pub use backup::{BackupHead, BackupRefusal, RehearsalHead, is_taken_along};
pub use check::{AlarmRefusal, CLOCKS_DIFFER, check, has_received};
pub use decision::{MAX_ACTIONS, permit};
pub use fresh::{Fresh, ObjectHead, Reads, ResourceHead, is_paused, reads};
pub use pace::Pace;
pub use refusal::Refusal;
pub use restore::RestoreHead;

#[cfg(test)]
mod fixtures;
