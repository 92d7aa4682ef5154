//! The rules that the API server checks when somebody writes an object, and the words it refuses with.
//!
//! Each says what to do. What is stored already stays writable as long as the value does not change; the reconciler
//! reports on it. Rules about the name are for new objects, because a name never changes.

mod improbable;
mod module;

use contract::ProbePolicy;
use contract::names::LONGEST_CLUSTER_NAME;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, ValidationRule,
};

pub(crate) use improbable::{
    add_for_backups as add_for_improbable_backups, add_for_clusters as add_for_improbable_clusters,
    add_for_peers as add_for_improbable_peers, add_for_restores as add_for_improbable_restores,
    add_for_schedules as add_for_improbable_schedules,
};
pub(crate) use module::add as add_for_modules;

/// Longest texts that rules look at. The API server wants to know beforehand how dear a rule can be.
const LONGEST_VERSION: i64 = 64;
const LONGEST_REPOSITORY: i64 = 512;
const MOST_LABELS: i64 = 64;
const LONGEST_QUANTITY: i64 = 32;
/// That of a DNS name.
const LONGEST_DOMAIN: i64 = 253;

/// Puts every rule in its place.
pub(crate) fn add(schema: &mut JSONSchemaProps) {
    schema.x_kubernetes_validations = Some(vec![
        for_new_objects(
            &format!("self.metadata.name.size() <= {LONGEST_CLUSTER_NAME}"),
            &format!(
                "metadata.name may have {LONGEST_CLUSTER_NAME} characters: members are called after it, with a dash and 10 more, \
                 and a DNS label has 63. Choose a shorter name"
            ),
        ),
        for_new_objects(
            "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "metadata.name is also the name of a Service: it begins with a letter and has only a-z, 0-9 and dashes. \
             Choose a name without dots",
        ),
    ]);
    for (path, longest, rules) in [
        ("spec.size", Longest::Number, size()),
        ("spec.version", Longest::Text(LONGEST_VERSION), version()),
        (
            "spec.repository",
            Longest::Text(LONGEST_REPOSITORY),
            repository(),
        ),
        (
            "spec.pod.labels",
            Longest::Entries(MOST_LABELS),
            pod_labels(),
        ),
        (
            "spec.pod.ClusterDomain",
            Longest::Text(LONGEST_DOMAIN),
            cluster_domain(),
        ),
        ("spec.TLS.static", Longest::Number, tls()),
        (
            "spec.etcd.quotaBackendBytes",
            Longest::Text(LONGEST_QUANTITY),
            quota(),
        ),
        (
            "spec.etcd.autoCompactionRetention",
            Longest::Text(LONGEST_QUANTITY),
            retention(),
        ),
        ("spec.etcd.snapshotCount", Longest::Number, snapshot_count()),
        ("spec.etcd", Longest::Number, compaction()),
        (
            "spec.pod.probes.startupSeconds",
            Longest::Number,
            seconds("startupSeconds", &ProbePolicy::STARTUP),
        ),
        (
            "spec.pod.probes.livenessSeconds",
            Longest::Number,
            seconds("livenessSeconds", &ProbePolicy::LIVENESS),
        ),
        (
            "spec.pod.probes.readinessSeconds",
            Longest::Number,
            seconds("readinessSeconds", &ProbePolicy::READINESS),
        ),
    ] {
        if let Some(found) = at(schema, path) {
            match longest {
                Longest::Number => {}
                Longest::Text(length) => found.max_length = Some(length),
                Longest::Entries(count) => found.max_properties = Some(count),
            }
            found.x_kubernetes_validations = Some(rules);
        }
    }
}

/// How the API server bounds what a rule looks at.
enum Longest {
    Number,
    Text(i64),
    Entries(i64),
}

fn size() -> Vec<ValidationRule> {
    vec![rule(
        "self >= 0 && self <= 7",
        "size is the number of members, 1 to 7, or 0 to stop them and keep their volume claims. Every member gets every write, so more members make etcd slower and not safer: \
         3 survives the loss of one, 5 of two. To be rid of a cluster delete it",
    )]
}

fn version() -> Vec<ValidationRule> {
    vec![rule(
        r"self == '' || self.matches('^v?[0-9]+\\.[0-9]+\\.[0-9]+$')",
        "version must be MAJOR.MINOR.PATCH such as 3.6.16, with or without a leading v. Leave it out for the operator's default",
    )]
}

fn repository() -> Vec<ValidationRule> {
    vec![
        rule(
            "!self.contains('@')",
            "repository must have no digest: the image is <repository>:v<version>. Leave away all from the @ on",
        ),
        rule(
            "self.contains('@') || !self.matches(':[^/]*$')",
            "repository must have no tag: the image is <repository>:v<version>. Leave away the last colon and what follows it, \
             and say the version in spec.version",
        ),
    ]
}

fn pod_labels() -> Vec<ValidationRule> {
    vec![rule(
        "self.all(key, key != 'app' && !key.startsWith('etcd_'))",
        "the label app and labels that begin with etcd_ are the operator's: Services and the operator find members by them. \
         Use other keys",
    )]
}

fn cluster_domain() -> Vec<ValidationRule> {
    vec![rule(
        r"self == '' || self.matches('^(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+\\.?$')",
        "ClusterDomain is put right behind <member>.<cluster>.<namespace>.svc, so it begins with a dot: write .cluster.local, \
         or leave it out",
    )]
}

fn tls() -> Vec<ValidationRule> {
    let given = |has: &str, field: &str| {
        format!("({has}has({field}) && dyn({field}) != null && {field} != '')")
    };
    let operator = given("", "self.operatorSecret");
    let server = given(
        "has(self.member) && dyn(self.member) != null && ",
        "self.member.serverSecret",
    );
    vec![rule(
        &format!("{operator} == {server}"),
        "operatorSecret and member.serverSecret belong together: members that speak TLS to clients need an operator that \
         does, too. Give both or neither",
    )]
}

fn quota() -> Vec<ValidationRule> {
    vec![rule(
        "type(self) == string \
         ? isQuantity(self) && quantity(self).compareTo(quantity('16Mi')) >= 0 && quantity(self).compareTo(quantity('1Ti')) <= 0 \
         : self >= 16777216 && self <= 1099511627776",
        "quotaBackendBytes is a quantity of bytes from 16Mi to 1Ti, such as 4Gi; etcd advises against more than 8Gi",
    )]
}

fn retention() -> Vec<ValidationRule> {
    vec![rule(
        "type(self) == string ? self.matches('^([0-9]+|([0-9]+[hms])+)$') : self >= 0",
        "autoCompactionRetention is a time such as 30m or 8h, or hours without a unit; with the mode revision a number of \
         revisions. 0 keeps all history",
    )]
}

fn compaction() -> Vec<ValidationRule> {
    let given = |field: &str| format!("(has(self.{field}) && dyn(self.{field}) != null)");
    let (mode, retention) = (
        given("autoCompactionMode"),
        given("autoCompactionRetention"),
    );
    vec![
        rule(
            &format!("!{mode} || {retention}"),
            "autoCompactionMode says what autoCompactionRetention counts: give both, or none to keep all history",
        ),
        rule(
            &format!(
                "!({mode} && {retention}) || self.autoCompactionMode != 'revision' \
                 || type(self.autoCompactionRetention) == int || self.autoCompactionRetention.matches('^[0-9]+$')"
            ),
            "with the mode revision autoCompactionRetention is a number of revisions, without a unit",
        ),
    ]
}

fn snapshot_count() -> Vec<ValidationRule> {
    vec![rule(
        "self >= 1 && self <= 1000000",
        "snapshotCount is a number of entries from 1 to 1000000: a member keeps as many in memory. Leave it out for etcd's default",
    )]
}

fn seconds(field: &str, bounds: &std::ops::RangeInclusive<i32>) -> Vec<ValidationRule> {
    let (least, most) = (bounds.start(), bounds.end());
    vec![rule(
        &format!("self >= {least} && self <= {most}"),
        &format!("{field} is {least} to {most} seconds. Leave it out for the default"),
    )]
}

fn rule(expression: &str, message: &str) -> ValidationRule {
    ValidationRule {
        rule: expression.to_owned(),
        message: Some(message.to_owned()),
        ..ValidationRule::default()
    }
}

fn for_new_objects(expression: &str, message: &str) -> ValidationRule {
    ValidationRule {
        optional_old_self: Some(true),
        ..rule(&format!("oldSelf.hasValue() || {expression}"), message)
    }
}

/// The schema of the property at `path`.
fn at<'a>(schema: &'a mut JSONSchemaProps, path: &str) -> Option<&'a mut JSONSchemaProps> {
    path.split('.').try_fold(schema, |schema, name| {
        schema.properties.as_mut()?.get_mut(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    /// A rule whose place is gone would be lost without a word.
    #[test]
    fn every_rule_has_found_its_place() {
        let crd = serde_json::to_string(&crd::etcd_cluster().expect("a CRD")).expect("JSON");
        for rules in [
            size(),
            version(),
            repository(),
            pod_labels(),
            tls(),
            quota(),
            retention(),
            compaction(),
            snapshot_count(),
            seconds("startupSeconds", &ProbePolicy::STARTUP),
            seconds("livenessSeconds", &ProbePolicy::LIVENESS),
            seconds("readinessSeconds", &ProbePolicy::READINESS),
        ] {
            for rule in rules {
                let text = serde_json::to_string(&rule.rule).expect("JSON");
                assert!(crd.contains(&text), "{text} is nowhere");
            }
        }
    }
}
