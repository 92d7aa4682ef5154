//! Why the envelope refuses, in words for people. What the refusals are called in metrics is said elsewhere.

use contract::{ClusterId, Fingerprint, MemberId, ObjectKind};

/// Why an action, or a whole decision, is not carried out.
#[derive(
    Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr, strum::VariantNames,
)]
pub enum Refusal {
    /// The module speaks another schema.
    #[error("the decision is of schema {found}, this host executes schema {expected}")]
    Schema {
        /// The decision's.
        found: u32,
        /// The host's.
        expected: u32,
    },
    /// More of something than a decision may hold.
    #[error("{what}: {found}, at most {limit} are allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// An action larger than it may be.
    #[error("{what} has {found} bytes, at most {limit} are allowed")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size as JSON.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The action is about another resource than the decision.
    #[error("the action is for the resource with uid {found:?}, the decision for {expected:?}")]
    OtherResource {
        /// The decision's resource.
        expected: String,
        /// The action's.
        found: String,
    },
    /// An effect without a precondition that makes it safe.
    #[error("{effect} {target} lacks the precondition {field}")]
    MissingPrecondition {
        /// The effect.
        effect: &'static str,
        /// What it touches.
        target: String,
        /// The field that is absent.
        field: &'static str,
    },
    /// `spec.paused` is true.
    #[error(
        "the cluster is paused: {effect} {target} is not allowed, only its status and events are"
    )]
    Paused {
        /// The effect.
        effect: &'static str,
        /// What it touches.
        target: String,
    },
    /// The archived operator may be at work on the same cluster; this one holds its lock.
    #[error("{0} holds the lock of the archived operator: only status and events are allowed")]
    OldOperator(String),
    /// The resource is being deleted.
    #[error(
        "the cluster is being deleted: {effect} {target} is not allowed, only its status and events are"
    )]
    Deleting {
        /// The effect.
        effect: &'static str,
        /// What it touches.
        target: String,
    },
    /// The spec cannot be decoded, so no child can be judged against it.
    #[error("the spec cannot be read ({why}), so nothing is built from it")]
    UnreadableSpec {
        /// The decoder's words.
        why: String,
    },
    /// An event that the API server would refuse or that says nothing.
    #[error("the event {reason:?} is malformed: {why}")]
    MalformedEvent {
        /// Its reason.
        reason: String,
        /// What is wrong.
        why: &'static str,
    },
    /// The status would forget or replace what must stay.
    #[error("the status must not change {field} from {from:?} to {to:?}")]
    RewrittenStatus {
        /// The field.
        field: &'static str,
        /// As recorded.
        from: String,
        /// As the decision has it.
        to: String,
    },
    /// The name is not one of this cluster's names for that kind.
    #[error("{} {name:?} is not a name of cluster {cluster:?}", kind.name())]
    ForeignName {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The cluster.
        cluster: String,
    },
    /// The object would live in another namespace.
    #[error("{} {name} would be in namespace {namespace:?}, which is not the cluster's", kind.name())]
    ForeignNamespace {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// Where it would be.
        namespace: String,
    },
    /// The owner references are not exactly one controller reference to the resource.
    #[error("{} {name} is not owned by the cluster alone", kind.name())]
    Owner {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
    /// A label is missing or one that neither the cluster nor the spec has.
    #[error("{} {name} has a wrong label {label}", kind.name())]
    Label {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The label's key.
        label: String,
    },
    /// An annotation that neither the cluster nor the spec has.
    #[error("{} {name} has an annotation {annotation} that nobody asked for", kind.name())]
    Annotation {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The annotation's key.
        annotation: String,
    },
    /// A field that children of a cluster never have.
    #[error("{} {name} sets the field {field}, which a cluster's child may not have", kind.name())]
    Field {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
        /// The path of the field.
        field: String,
    },
    /// Outside of the `restricted` Pod Security Standard, and not asked for by the spec.
    #[error("pod {name} is outside of the restricted Pod Security Standard: {what}")]
    PodSecurity {
        /// The pod.
        name: String,
        /// The rule it breaks.
        what: &'static str,
    },
    /// An etcd pod would get a service-account token.
    #[error("pod {name} would hold a service-account token")]
    ServiceAccountToken {
        /// The pod.
        name: String,
    },
    /// A volume that a member does not need.
    #[error("pod {name} mounts {volume}: not its own claim, not empty, not the Secret of its role")]
    Volume {
        /// The pod.
        name: String,
        /// The volume's name in the pod.
        volume: String,
    },
    /// A variable that reads a Secret or ConfigMap the spec does not name.
    #[error("pod {name} reads {variable} from an object that spec.pod.etcdEnv does not name")]
    Environment {
        /// The pod.
        name: String,
        /// The variable.
        variable: String,
    },
    /// Not the repository of the spec.
    #[error("image {image:?} is not of the repository {repository:?} that the spec asks for")]
    Image {
        /// The image.
        image: String,
        /// The repository.
        repository: String,
    },
    /// Not exactly one container, which runs etcd.
    #[error("pod {name} does not run etcd alone: {what}")]
    Containers {
        /// The pod.
        name: String,
        /// What it runs else.
        what: String,
    },
    /// How etcd would start is hidden from the preconditions, or never allowed.
    #[error("pod {name} would start etcd in a way that is not allowed: {what}")]
    Start {
        /// The pod.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A member would speak plain text, or to strangers, where the cluster speaks TLS.
    #[error("pod {name} would open what TLS protects: {what}")]
    Plaintext {
        /// The pod.
        name: String,
        /// How.
        what: &'static str,
    },
    /// The selector would reach other pods than the cluster's.
    #[error("{} {name} does not select by the cluster's labels", kind.name())]
    Selector {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
    /// The claim is not the one the spec asks for.
    #[error("claim {name} is not as spec.pod.persistentVolumeClaimSpec asks for")]
    Claim {
        /// The claim.
        name: String,
    },
    /// The budget protects nothing, or everything for ever.
    #[error("the disruption budget {name} must have a minAvailable from 1 to 7")]
    Budget {
        /// The budget.
        name: String,
    },
    /// The member would be reached at an address that is not its own.
    #[error("peer URL {url:?} is not an address of member {member}")]
    PeerUrl {
        /// The member.
        member: String,
        /// The URL.
        url: String,
    },
    /// Another instance of the operator may be at work.
    #[error("this instance does not hold the lease")]
    LeaseLost,
    /// A needed read gave no answer.
    #[error("{what} could not be read: {why}")]
    Unread {
        /// What was to be read.
        what: &'static str,
        /// Why there is no answer.
        why: String,
    },
    /// The resource is gone or was made anew.
    #[error("the cluster's resource with uid {uid} is gone")]
    ResourceGone {
        /// The uid expected.
        uid: String,
    },
    /// The resource changed since the snapshot.
    #[error("the resource changed: resourceVersion {expected} expected, {found} found")]
    ResourceChanged {
        /// In the snapshot.
        expected: String,
        /// In the fresh read.
        found: String,
    },
    /// The child is not the one of the snapshot.
    #[error("{} {name} changed: {expected} expected, {found} found", kind.name())]
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
    #[error("{} {name} belongs to somebody else", kind.name())]
    ForeignOwner {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: String,
    },
    /// A pod would start as `new` though the cluster lives, or outside of its birth plan.
    #[error("a member must not start as `new`: {why}")]
    NotBirth {
        /// What speaks against it.
        why: String,
    },
    /// No quorum confirmed the member list.
    #[error("the member list is one member's own copy, not confirmed by a quorum")]
    Unconfirmed,
    /// Another cluster answers.
    #[error("etcd cluster {found} answers, {expected} expected")]
    OtherCluster {
        /// By the precondition or by the status.
        expected: ClusterId,
        /// That answered.
        found: ClusterId,
    },
    /// No cluster id is recorded in the status.
    #[error("no cluster id is recorded in the status, so membership stays as it is")]
    Unborn,
    /// Members or roles changed since the snapshot.
    #[error("the members changed: {expected} expected, {found} found")]
    MembersChanged {
        /// In the snapshot.
        expected: Fingerprint,
        /// In the fresh read.
        found: Fingerprint,
    },
    /// Somebody else leads, or nobody.
    #[error("the leader is not {expected}: {found}")]
    LeaderChanged {
        /// In the snapshot.
        expected: MemberId,
        /// In the fresh read.
        found: String,
    },
    /// The member to leave leads, or it is not known who does.
    #[error("member {member} leads or may lead; leadership is moved away first")]
    IsLeader {
        /// The member.
        member: MemberId,
    },
    /// The list has no such member.
    #[error("no member {member} is in the list")]
    NotMember {
        /// Its id or name.
        member: String,
    },
    /// The member whose pod or disk is to go is still in the list.
    #[error("member {member} is still in the list")]
    StillMember {
        /// Its name.
        member: String,
    },
    /// The pod is not that of the member the precondition names.
    #[error("pod {pod} is not that of the member the action names")]
    OtherMember {
        /// The pod.
        pod: String,
    },
    /// Another membership change is under way.
    #[error("member {member} is a learner or has not started: one change at a time")]
    Outstanding {
        /// The member that is not through.
        member: MemberId,
    },
    /// Too few healthy voters would be left.
    #[error("{healthy} healthy voters would be left, {needed} are needed")]
    TooFewHealthy {
        /// Healthy voters after the effect.
        healthy: u32,
        /// Healthy voters needed.
        needed: u32,
    },
    /// The last vote cannot be taken.
    #[error("member {member} is the last voter")]
    LastVoter {
        /// The member.
        member: MemberId,
    },
    /// Only a healthy learner is promoted.
    #[error("member {member} is not a healthy learner")]
    NotHealthyLearner {
        /// The member.
        member: MemberId,
    },
    /// Only a healthy voter can lead.
    #[error("member {member} is not a healthy voter")]
    NotHealthyVoter {
        /// The member.
        member: MemberId,
    },
    /// A voter that has run before would come back with an empty memory.
    #[error("member {member} has voted before: without its data it must not join under its id")]
    ForgetfulVoter {
        /// Its name.
        member: String,
    },
    /// Only a person may ask for it, in the spec; the words say what is missing.
    #[error("{0}")]
    Unasked(String),
    /// The pod runs, or its data would go with it.
    #[error("pod {pod} runs or keeps its data in itself: deleting it needs evidence from etcd")]
    StillRunning {
        /// The pod.
        pod: String,
    },
    /// The member votes, and a restart takes its vote for a while.
    #[error("pod {pod} runs; restarting it with another image needs evidence from etcd")]
    Running {
        /// The pod.
        pod: String,
    },
    /// Another member is about to be restarted.
    #[error("pod {pod} is about to be restarted with another image: one member at a time")]
    RestartPending {
        /// The pod.
        pod: String,
    },
    /// What is done about an alarm of etcd goes too far.
    #[error(transparent)]
    Alarm(#[from] crate::AlarmRefusal),
}
