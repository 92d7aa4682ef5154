//! Whether the status of a cluster at rest says what is so.
//!
//! Compares what people read with the truth of the model. `Available` is [`super::end`]'s.

use contract::{EtcdClusterStatus, MemberHealth, MemberRole};
use simulator::{MemberTruth, Truth};

/// What the status says and is not so, or does not say.
pub(super) fn untold(truth: &Truth, status: &EtcdClusterStatus, generation: i64) -> Vec<String> {
    let mut untold = Vec::new();
    let mut expect = |is_so: bool, what: &str| {
        if !is_so {
            untold.push(what.to_owned());
        }
    };
    expect(
        status.observed_generation == Some(generation),
        "observedGeneration is another one",
    );
    // Of members that are being stopped only `Available` is told.
    if truth.pods.is_empty() {
        return untold;
    }
    if !truth.confirmed {
        expect(
            status.members.ready.is_empty() && status.ready_members == 0,
            "somebody is ready without a quorum",
        );
        return untold;
    }
    let healthy = |member: &&MemberTruth| member.healthy && !member.learner;
    let ready: Vec<&str> = names(truth.members.iter().filter(healthy));
    let told: Vec<&str> = status.members.ready.iter().map(String::as_str).collect();
    expect(told == ready, "others are ready than members.ready says");
    let count = |members: usize| i64::try_from(members).unwrap_or(i64::MAX);
    expect(
        status.ready_members == count(ready.len()),
        "readyMembers is another number",
    );
    expect(
        status.size == count(truth.members.len()),
        "size is another number",
    );
    let lowest = truth.members.iter().filter(healthy);
    let lowest = lowest.filter_map(|member| member.release).min();
    expect(
        lowest.is_none_or(|release| status.current_version == release.to_string()),
        "currentVersion is another one",
    );
    for member in &truth.members {
        expect(is_recorded(member, status), "a member has no true record");
    }
    untold
}

fn names<'a>(members: impl Iterator<Item = &'a MemberTruth>) -> Vec<&'a str> {
    let mut names: Vec<&str> = members.map(|member| member.name.as_str()).collect();
    names.sort_unstable();
    names
}

fn is_recorded(member: &MemberTruth, status: &EtcdClusterStatus) -> bool {
    let mut records = status.member_records.iter();
    records.any(|record| {
        record.name == member.name
            && record.id == Some(member.id)
            && (record.role == MemberRole::Voter) != member.learner
            && (record.health == MemberHealth::Healthy) == member.healthy
    })
}
