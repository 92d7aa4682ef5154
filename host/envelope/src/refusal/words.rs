//! The refusals in words for people. Does not know when one is due.

use std::fmt;

use super::Refusal;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema { found, expected } => write!(
                f,
                "the decision is of schema {found}, this host executes schema {expected}"
            ),
            Self::TooMany { what, found, limit } => {
                write!(f, "{what}: {found}, at most {limit} are allowed")
            }
            Self::TooLarge { what, found, limit } => {
                write!(f, "{what} has {found} bytes, at most {limit} are allowed")
            }
            Self::OtherResource { expected, found } => write!(
                f,
                "the action is for the resource with uid {found:?}, the decision for {expected:?}"
            ),
            Self::MissingPrecondition {
                effect,
                target,
                field,
            } => write!(f, "{effect} {target} lacks the precondition {field}"),
            Self::Paused { effect, target } => write!(
                f,
                "the cluster is paused: {effect} {target} is not allowed, only its status and events are"
            ),
            Self::OldOperator(holder) => write!(
                f,
                "{holder} holds the lock of the archived operator: only status and events are allowed"
            ),
            Self::OldChild(name) => write!(
                f,
                "{name} is of the archived operator and not taken over: only status and events are allowed beside it"
            ),
            Self::Deleting { effect, target } => write!(
                f,
                "the cluster is being deleted: {effect} {target} is not allowed, only its status and events are"
            ),
            Self::UnreadableSpec { why } => write!(
                f,
                "the spec cannot be read ({why}), so nothing is built from it"
            ),
            Self::MalformedEvent { reason, why } => {
                write!(f, "the event {reason:?} is malformed: {why}")
            }
            Self::RewrittenStatus { field, from, to } => write!(
                f,
                "the status must not change {field} from {from:?} to {to:?}"
            ),
            Self::ForeignName {
                kind,
                name,
                cluster,
            } => write!(
                f,
                "{} {name:?} is not a name of cluster {cluster:?}",
                kind.name()
            ),
            Self::ForeignNamespace {
                kind,
                name,
                namespace,
            } => write!(
                f,
                "{} {name} would be in namespace {namespace:?}, which is not the cluster's",
                kind.name()
            ),
            Self::Owner { kind, name } => write!(
                f,
                "{} {name} is not owned by the cluster alone",
                kind.name()
            ),
            Self::Label { kind, name, label } => {
                write!(f, "{} {name} has a wrong label {label}", kind.name())
            }
            Self::Annotation {
                kind,
                name,
                annotation,
            } => write!(
                f,
                "{} {name} has an annotation {annotation} that nobody asked for",
                kind.name()
            ),
            Self::Field { kind, name, field } => write!(
                f,
                "{} {name} sets the field {field}, which a cluster's child may not have",
                kind.name()
            ),
            Self::PodSecurity { name, what } => write!(
                f,
                "pod {name} is outside of the restricted Pod Security Standard: {what}"
            ),
            Self::ServiceAccountToken { name } => {
                write!(f, "pod {name} would hold a service-account token")
            }
            Self::Volume { name, volume } => write!(
                f,
                "pod {name} mounts {volume}: not its own claim, not the Secret of its role, or not in its place"
            ),
            Self::Environment { name, variable } => write!(
                f,
                "pod {name} has the variable {variable}, which is not of its start, otherwise than spec.etcd and spec.pod.etcdEnv ask for"
            ),
            Self::Image { image, repository } => write!(
                f,
                "image {image:?} is not of the repository {repository:?} that the spec asks for"
            ),
            Self::Containers { name, what } => {
                write!(f, "pod {name} does not run etcd alone: {what}")
            }
            Self::Start { name, what } => write!(
                f,
                "pod {name} would start etcd in a way that is not allowed: {what}"
            ),
            Self::Filling { name, what } => write!(
                f,
                "pod {name} would run before etcd what fills no disk from the backup that is asked for: {what}"
            ),
            Self::Plaintext { name, what } => {
                write!(f, "pod {name} would open what TLS protects: {what}")
            }
            Self::Selector { kind, name } => write!(
                f,
                "{} {name} does not select exactly by the cluster's labels",
                kind.name()
            ),
            Self::Claim { name } => write!(
                f,
                "claim {name} is not as spec.pod.persistentVolumeClaimSpec asks for"
            ),
            Self::Budget(words) | Self::Probe(words) | Self::PodPolicy(words) => f.write_str(words),
            Self::Needed(what) => write!(
                f,
                "{what} is needed as long as the cluster is there, and is never deleted alone"
            ),
            Self::FalseStatus(words) => {
                write!(
                    f,
                    "the status would say what the snapshot does not show: {words}"
                )
            }
            Self::PeerUrl { member, url } => {
                write!(f, "peer URL {url:?} is not an address of member {member}")
            }
            Self::LeaseLost => f.write_str("this instance does not hold the lease"),
            Self::Unread { what, why } => write!(f, "{what} could not be read: {why}"),
            Self::ClocksDiffer { ahead } => write!(
                f,
                "the operator's clock is {} s {} the API server's, so it dates no certificate and calls no backup old; set \
                 the clocks of the operator's node and of the control plane right",
                ahead.unsigned_abs() / 1_000,
                if *ahead > 0 { "ahead of" } else { "behind" }
            ),
            Self::ResourceGone { uid } => {
                write!(f, "the cluster's resource with uid {uid} is gone")
            }
            Self::ResourceChanged { expected, found } => write!(
                f,
                "the resource changed: resourceVersion {expected} expected, {found} found"
            ),
            Self::ObjectChanged {
                kind,
                name,
                expected,
                found,
            } => write!(
                f,
                "{} {name} changed: {expected} expected, {found} found",
                kind.name()
            ),
            Self::ForeignOwner { kind, name } => {
                write!(f, "{} {name} belongs to somebody else", kind.name())
            }
            Self::NotBirth { why } => write!(f, "a member must not start as `new`: {why}"),
            Self::Unconfirmed => {
                f.write_str("the member list is one member's own copy, not confirmed by a quorum")
            }
            Self::OtherCluster { expected, found } => {
                write!(f, "etcd cluster {found} answers, {expected} expected")
            }
            Self::Unborn => {
                f.write_str("no cluster id is recorded in the status, so membership stays as it is")
            }
            Self::MembersChanged { expected, found } => {
                write!(f, "the members changed: {expected} expected, {found} found")
            }
            Self::LeaderChanged { expected, found } => {
                write!(f, "the leader is not {expected}: {found}")
            }
            Self::IsLeader { member } => write!(
                f,
                "member {member} leads or may lead; leadership is moved away first"
            ),
            Self::NotMember(member) => write!(f, "no member {member} is in the list"),
            Self::StillMember { member } => write!(f, "member {member} is still in the list"),
            Self::OtherMember { pod } => {
                write!(f, "pod {pod} is not that of the member the action names")
            }
            Self::Outstanding { member } => write!(
                f,
                "member {member} is a learner, has not started, or does not listen at its new address yet: one change at a time"
            ),
            Self::TooFewHealthy { healthy, needed } => write!(
                f,
                "{healthy} healthy voters would be left, {needed} are needed"
            ),
            Self::LastVoter { member } => write!(f, "member {member} is the last voter"),
            Self::NotHealthyLearner { member } => {
                write!(f, "member {member} is not a healthy learner")
            }
            Self::NotHealthyVoter { member } => write!(f, "member {member} is not a healthy voter"),
            Self::ForgetfulVoter { member } => write!(
                f,
                "member {member} has voted before: without its data it must not join under its id"
            ),
            Self::Unasked(words) => f.write_str(words),
            Self::StillRunning { pod } => write!(
                f,
                "pod {pod} runs or keeps its data in itself: deleting it needs evidence from etcd"
            ),
            Self::Running { pod } => write!(
                f,
                "pod {pod} runs; restarting it with another image needs evidence from etcd"
            ),
            Self::RestartPending(pod) => write!(
                f,
                "pod {pod} is about to be restarted or deleted: one member at a time"
            ),
            Self::UnaskedVersion(to) => {
                write!(f, "the spec does not ask for a version of etcd {to}")
            }
            Self::NoWayBack {
                to,
                member,
                version,
            } => write!(
                f,
                "no way leads back to etcd {to}: member {member} runs {version:?}, not the minor version after it"
            ),
            Self::NewerData {
                member,
                written,
                image,
            } => write!(
                f,
                "the data files of member {member} are those of etcd {written}, which {image} does not read"
            ),
            Self::Alarm(alarm) => alarm.fmt(f),
            Self::Peer(why) => f.write_str(why),
            Self::Backup(backup) => backup.fmt(f),
        }
    }
}
