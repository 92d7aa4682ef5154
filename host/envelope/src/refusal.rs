//! Why the envelope refuses. What the refusals are called in metrics is said elsewhere.

mod words;

use contract::{ClusterId, Fingerprint, MemberId, ObjectKind};

use crate::{AlarmRefusal, BackupRefusal};

/// Why an action, or a whole decision, is not carried out.
#[derive(
    Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames,
)]
pub enum Refusal {
    /// The module speaks another schema.
    Schema {
        /// The decision's.
        found: u32,
        /// The host's.
        expected: u32,
    },
    /// More of something than a decision may hold.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// An action larger than it may be.
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size as JSON.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The action is about another resource than the decision.
    OtherResource {
        /// The decision's resource.
        expected: String,
        /// The action's.
        found: String,
    },
    /// An effect without a precondition that makes it safe.
    MissingPrecondition {
        /// The effect.
        effect: &'static str,
        /// What it touches.
        target: String,
        /// The field that is absent.
        field: &'static str,
    },
    /// `spec.paused` is true.
    Paused {
        /// The effect.
        effect: &'static str,
        /// What it touches.
        target: String,
    },
    /// The archived operator may be at work on the same cluster; this one holds its lock.
    OldOperator(String),
    /// The archived operator's pods or claims, of which this is one, are of the same cluster and not taken over.
    OldChild(String),
    /// The resource is being deleted.
    Deleting {
        /// The effect.
        effect: &'static str,
        /// What it touches.
        target: String,
    },
    /// The spec cannot be decoded, so no child can be judged against it.
    UnreadableSpec {
        /// The decoder's words.
        why: String,
    },
    /// An event that the API server would refuse or that says nothing.
    MalformedEvent {
        /// Its reason.
        reason: String,
        /// What is wrong.
        why: &'static str,
    },
    /// The status would forget or replace what must stay.
    RewrittenStatus {
        /// The field.
        field: &'static str,
        /// As recorded.
        from: String,
        /// As the decision has it.
        to: String,
    },
    /// The name is not one of this cluster's names for that kind.
    ForeignName {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The cluster.
        cluster: String,
    },
    /// The object would live in another namespace.
    ForeignNamespace {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// Where it would be.
        namespace: String,
    },
    /// The owner references are not exactly one controller reference to the resource.
    Owner {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
    /// A label is missing or one that neither the cluster nor the spec has.
    Label {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The label's key.
        label: String,
    },
    /// An annotation that neither the cluster nor the spec has.
    Annotation {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The annotation's key.
        annotation: String,
    },
    /// A field that children of a cluster never have.
    Field {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The path of the field.
        field: String,
    },
    /// Another security context than the spec asks for, or, where it asks for none, than the operator's own.
    PodSecurity {
        /// The pod.
        name: String,
        /// The rule it breaks.
        what: &'static str,
    },
    /// An etcd pod would get a service-account token.
    ServiceAccountToken {
        /// The pod.
        name: String,
    },
    /// A volume that a member does not need.
    Volume {
        /// The pod.
        name: String,
        /// The volume's name in the pod.
        volume: String,
    },
    /// A variable that neither the start nor the spec has.
    Environment {
        /// The pod.
        name: String,
        /// The variable.
        variable: String,
    },
    /// Not the repository of the spec.
    Image {
        /// The image.
        image: String,
        /// The repository.
        repository: String,
    },
    /// Not exactly one container, which runs etcd.
    Containers {
        /// The pod.
        name: String,
        /// What it runs else.
        what: String,
    },
    /// What runs before etcd is not what fills a disk from the backup that is asked for.
    Filling {
        /// The pod.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// How etcd would start is hidden from the preconditions, or never allowed.
    Start {
        /// The pod.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A member would speak plain text, or to strangers, where the cluster speaks TLS.
    Plaintext {
        /// The pod.
        name: String,
        /// How.
        what: &'static str,
    },
    /// The selector would reach other pods than the cluster's.
    Selector {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
    /// The claim is not the one the spec asks for.
    Claim {
        /// The claim.
        name: String,
    },
    /// The budget protects too few, or everything for ever; the words say which and how many it must keep.
    Budget(String),
    /// The kubelet would kill a healthy member, or find it ready when it is not; the words say which and why.
    Probe(String),
    /// The pod would run elsewhere, or with more or less, than `spec.pod` asks for; the words say which and what.
    PodPolicy(String),
    /// Clients, members and drains need it as long as the cluster is there.
    Needed(String),
    /// The status says something that nobody saw.
    FalseStatus(String),
    /// The member would be reached at an address that is not its own.
    PeerUrl {
        /// The member.
        member: String,
        /// The URL.
        url: String,
    },
    /// Another instance of the operator may be at work.
    LeaseLost,
    /// A needed read gave no answer.
    Unread {
        /// What was to be read.
        what: &'static str,
        /// Why there is no answer.
        why: String,
    },
    /// A certificate would begin and end at the wrong time, or backups would go before theirs.
    ClocksDiffer {
        /// Milliseconds by which the host's clock is ahead of the API server's.
        ahead: i64,
    },
    /// The resource is gone or was made anew.
    ResourceGone {
        /// The uid expected.
        uid: String,
    },
    /// The resource changed since the snapshot.
    ResourceChanged {
        /// In the snapshot.
        expected: String,
        /// In the fresh read.
        found: String,
    },
    /// The child is not the one of the snapshot.
    ObjectChanged {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// A uid, or `none`.
        expected: String,
        /// A uid, or `none`.
        found: String,
    },
    /// The object belongs to somebody else.
    ForeignOwner {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
    /// A pod would start as `new` though the cluster lives, or outside of its birth plan.
    NotBirth {
        /// What speaks against it.
        why: String,
    },
    /// No quorum confirmed the member list.
    Unconfirmed,
    /// Another cluster answers.
    OtherCluster {
        /// By the precondition or by the status.
        expected: ClusterId,
        /// That answered.
        found: ClusterId,
    },
    /// No cluster id is recorded in the status.
    Unborn,
    /// Members or roles changed since the snapshot.
    MembersChanged {
        /// In the snapshot.
        expected: Fingerprint,
        /// In the fresh read.
        found: Fingerprint,
    },
    /// Somebody else leads, or nobody.
    LeaderChanged {
        /// In the snapshot.
        expected: MemberId,
        /// In the fresh read.
        found: String,
    },
    /// The member to leave leads, or it is not known who does.
    IsLeader {
        /// The member.
        member: MemberId,
    },
    /// No member of this id or name is in the list.
    NotMember(String),
    /// The member whose pod or disk is to go is still in the list.
    StillMember {
        /// Its name.
        member: String,
    },
    /// The pod is not that of the member the precondition names.
    OtherMember {
        /// The pod.
        pod: String,
    },
    /// Another membership change is under way.
    Outstanding {
        /// The member that is not through.
        member: MemberId,
    },
    /// Too few healthy voters would be left.
    TooFewHealthy {
        /// Healthy voters after the effect.
        healthy: u32,
        /// Healthy voters needed.
        needed: u32,
    },
    /// The last vote cannot be taken.
    LastVoter {
        /// The member.
        member: MemberId,
    },
    /// Only a healthy learner is promoted.
    NotHealthyLearner {
        /// The member.
        member: MemberId,
    },
    /// Only a healthy voter can lead.
    NotHealthyVoter {
        /// The member.
        member: MemberId,
    },
    /// A voter that has run before would come back with an empty memory.
    ForgetfulVoter {
        /// Its name.
        member: String,
    },
    /// Only a person may ask for it, in the spec; the words say what is missing.
    Unasked(String),
    /// The pod runs, or its data would go with it.
    StillRunning {
        /// The pod.
        pod: String,
    },
    /// The member votes, and a restart takes its vote for a while.
    Running {
        /// The pod.
        pod: String,
    },
    /// Another member is about to be restarted, or to lose its pod: the one of this pod.
    RestartPending(String),
    /// A version that is gone to, and that the spec does not ask for.
    UnaskedVersion(String),
    /// The cluster does not go back to an older minor version from what a member runs.
    NoWayBack {
        /// The version that is gone to.
        to: String,
        /// The member.
        member: MemberId,
        /// What it runs; empty when it does not say.
        version: String,
    },
    /// An older program would not read the member's data files.
    NewerData {
        /// The member.
        member: MemberId,
        /// Which version its data files have.
        written: String,
        /// The image.
        image: String,
    },
    /// What is done about an alarm of etcd goes too far.
    Alarm(AlarmRefusal),
    /// What is done about an old EtcdPeer goes too far.
    Peer(String),
    /// What is done about a backup goes too far.
    Backup(BackupRefusal),
}
