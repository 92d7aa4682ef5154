//! The dialects in which a cluster is written: the group of its kind, and how its children are labelled and called.
//!
//! Whatever differs between them inside the reconciler, the envelope and the host is a value of [`Dialect`]; what a
//! dialect's spec and status mean as those of the first one is said at the edge, by [`crate::improbable`].

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Predecessor, Resource, ResourceKind, improbable, names, predecessor};

/// A group of custom resources that says what a cluster is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `etcd.database.coreos.com/v1beta2`, whose types are those of the domain.
    #[default]
    Coreos,
    /// `etcd.improbable.io/v1alpha1`.
    Improbable,
}

/// How a dialect's clusters name and label their children.
struct Conventions {
    group: &'static str,
    version: &'static str,
    /// Label with the cluster's name, on every child.
    cluster_label: &'static str,
    /// Label with the member's name, on pods and claims.
    member_label: &'static str,
    /// Labels that are the same on every child.
    fixed_labels: &'static [(&'static str, &'static str)],
    /// What reserved label keys begin with.
    reserved_prefix: &'static str,
    /// Names of the ports for clients and for peers.
    ports: (&'static str, &'static str),
    /// Label with the EtcdRestore's name, on clusters that one made.
    restored_label: Option<&'static str>,
    /// Label with the EtcdBackupSchedule's name, on backups that one made.
    scheduled_label: Option<&'static str>,
    /// Reasons of events that the dialect calls otherwise.
    events: &'static [(&'static str, &'static str)],
    /// Members are numbered; else their names are random.
    is_numbered: bool,
    predecessor: &'static Predecessor,
    /// Fields of the first dialect's spec, and what they are called in this one, one after the other.
    fields: &'static [(&'static str, &'static str)],
}

static COREOS: Conventions = Conventions {
    group: crate::GROUP,
    version: crate::VERSION,
    cluster_label: names::CLUSTER_LABEL,
    member_label: names::NODE_LABEL,
    fixed_labels: &[(names::APP_LABEL, names::APP)],
    reserved_prefix: names::RESERVED_LABEL_PREFIX,
    ports: ("client", "peer"),
    restored_label: None,
    scheduled_label: None,
    events: &[],
    is_numbered: false,
    predecessor: &predecessor::COREOS,
    fields: &[],
};

/// The label `app` is not of the archived operator: the watches of both dialects' children select by it.
static IMPROBABLE: Conventions = Conventions {
    group: improbable::GROUP,
    version: improbable::VERSION,
    cluster_label: improbable::CLUSTER_LABEL,
    member_label: improbable::PEER_LABEL,
    fixed_labels: &[
        (names::APP_LABEL, names::APP),
        (improbable::APP_LABEL, names::APP),
    ],
    reserved_prefix: improbable::RESERVED_PREFIX,
    ports: ("etcd-client", "etcd-peer"),
    restored_label: Some(improbable::RESTORED_FROM_LABEL),
    scheduled_label: Some(improbable::SCHEDULE_LABEL),
    events: &[("BackupStored", "BackupSucceeded")],
    is_numbered: true,
    predecessor: &predecessor::IMPROBABLE,
    fields: &[
        ("spec.size", "spec.replicas"),
        ("spec.TLS", "spec.tls"),
        ("spec.pod", "spec.podTemplate"),
        (
            "spec.podTemplate.persistentVolumeClaimSpec",
            "spec.storage.volumeClaimTemplate",
        ),
        (
            "spec.podTemplate.persistentVolumeClaimRetentionPolicy",
            "spec.storage.whenDeleted",
        ),
        (
            "spec.podTemplate.labels",
            "spec.podTemplate.metadata.labels",
        ),
        (
            "spec.podTemplate.annotations",
            "spec.podTemplate.metadata.annotations",
        ),
        (
            "spec.podTemplate.ClusterDomain",
            "spec.podTemplate.clusterDomain",
        ),
        ("spec.etcdEndpoints", "spec.source.clusterURL"),
        ("spec.clusterRef", "spec.source.clusterRef"),
        ("spec.clientTLSSecret", "spec.source.clientTLSSecret"),
        ("spec.etcdCluster.name", "spec.clusterTemplate.clusterName"),
        ("spec.s3 names no Secret", "secretName names no Secret"),
        ("spec.gcs names no Secret", "secretName names no Secret"),
    ],
};

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Coreos, Self::Improbable];

    /// That of a `group/version`. What no dialect has is of the first.
    #[must_use]
    pub fn of(api_version: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| api_version.split('/').next() == Some(dialect.group()))
            .unwrap_or_default()
    }

    /// The dialect and the cluster that a child's labels name.
    #[must_use]
    pub fn of_labels(labels: &BTreeMap<String, String>) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|dialect| {
            let cluster = labels.get(dialect.cluster_label())?;
            Some((dialect, cluster.as_str()))
        })
    }

    const fn conventions(self) -> &'static Conventions {
        match self {
            Self::Coreos => &COREOS,
            Self::Improbable => &IMPROBABLE,
        }
    }

    /// The API group.
    #[must_use]
    pub const fn group(self) -> &'static str {
        self.conventions().group
    }

    /// The version of the clusters' API.
    #[must_use]
    pub const fn version(self) -> &'static str {
        self.conventions().version
    }

    /// `group/version`.
    #[must_use]
    pub fn api_version(self) -> String {
        [self.group(), "/", self.version()].concat()
    }

    /// Label with the cluster's name, on every child.
    #[must_use]
    pub const fn cluster_label(self) -> &'static str {
        self.conventions().cluster_label
    }

    /// Label with the member's name, on pods and claims.
    #[must_use]
    pub const fn member_label(self) -> &'static str {
        self.conventions().member_label
    }

    /// Labels that every child carries and Services select by.
    #[must_use]
    pub fn labels(self, cluster: &str) -> BTreeMap<String, String> {
        let fixed = self.conventions().fixed_labels.iter().copied();
        fixed
            .chain([(self.cluster_label(), cluster)])
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// Labels of a cluster that this restore made.
    #[must_use]
    pub fn restored_labels(self, restore: &str) -> BTreeMap<String, String> {
        labels_naming(self.conventions().restored_label, restore)
    }

    /// Labels of a backup that this schedule made.
    #[must_use]
    pub fn scheduled_labels(self, schedule: &str) -> BTreeMap<String, String> {
        labels_naming(self.conventions().scheduled_label, schedule)
    }

    /// [`Self::labels`] as a selector.
    #[must_use]
    pub fn selector(self, cluster: &str) -> String {
        let labels = self.labels(cluster);
        let terms = labels
            .iter()
            .map(|(key, value)| [key.as_str(), "=", value].concat());
        terms.collect::<Vec<_>>().join(",")
    }

    /// Whether people may not give pods a label of this key.
    #[must_use]
    pub fn is_reserved_label(self, key: &str) -> bool {
        let fixed = self.conventions().fixed_labels;
        fixed.iter().any(|(own, _)| *own == key) || key.starts_with(self.reserved_label_prefix())
    }

    /// What reserved label keys begin with.
    #[must_use]
    pub const fn reserved_label_prefix(self) -> &'static str {
        self.conventions().reserved_prefix
    }

    /// Name of the port for clients.
    #[must_use]
    pub const fn client_port_name(self) -> &'static str {
        self.conventions().ports.0
    }

    /// Name of the port for peers.
    #[must_use]
    pub const fn peer_port_name(self) -> &'static str {
        self.conventions().ports.1
    }

    /// The reason of an event as this dialect calls it.
    #[must_use]
    pub fn event_reason(self, reason: &str) -> &str {
        let mut own = self.conventions().events.iter();
        own.find(|(domain, _)| *domain == reason)
            .map_or(reason, |(_, own)| own)
    }

    /// Whether members are called CLUSTER-0, CLUSTER-1 and so on; else their names are random.
    #[must_use]
    pub const fn numbers_members(self) -> bool {
        self.conventions().is_numbered
    }

    /// What is said to people, with the fields of the spec called as this dialect calls them.
    #[must_use]
    pub fn in_its_words(self, text: String) -> String {
        let fields = self.conventions().fields.iter();
        fields.fold(text, |text, (field, own)| {
            if text.contains(field) {
                text.replace(field, own)
            } else {
                text
            }
        })
    }

    /// The archived operator whose clusters these are.
    #[must_use]
    pub const fn predecessor(self) -> &'static Predecessor {
        self.conventions().predecessor
    }

    /// What selects children of a cluster that the archived operator made, where [`Self::selector`] does not.
    #[must_use]
    pub fn predecessors_selector(self, cluster: &str) -> Option<String> {
        let marks = self.predecessor().marks.as_ref()?;
        let ((label, value), lacks) = (marks.has, marks.lacks);
        let own = self.cluster_label();
        Some(format!("{label}={value},{own}={cluster},!{lacks}"))
    }

    /// What is stored, as a resource whose spec and status are those of the domain. The group stays the dialect's.
    #[must_use]
    pub fn read(self, stored: Resource) -> Resource {
        match (self, ResourceKind::of(&stored.kind)) {
            (Self::Coreos, _) => stored,
            (Self::Improbable, Some(ResourceKind::EtcdBackup)) => {
                improbable::backup_of_domain(stored)
            }
            (Self::Improbable, Some(ResourceKind::EtcdRestore)) => {
                improbable::restore_of_domain(stored)
            }
            (Self::Improbable, Some(ResourceKind::EtcdBackupSchedule)) => {
                improbable::schedule_of_domain(stored)
            }
            (Self::Improbable, Some(ResourceKind::EtcdCluster) | None) => Resource {
                spec: improbable::spec_of_domain(stored.spec),
                status: improbable::status_of_domain(stored.status),
                ..stored
            },
        }
    }

    /// The spec of a cluster, read by [`Self::read`], as people write it.
    #[must_use]
    pub fn written_spec(self, domain: &Value) -> Value {
        match self {
            Self::Coreos => domain.clone(),
            Self::Improbable => improbable::written_spec(domain),
        }
    }

    /// A status of the domain as this dialect stores it for that kind.
    #[must_use]
    pub fn status(self, kind: ResourceKind, domain: Value) -> Value {
        match self {
            Self::Coreos => domain,
            Self::Improbable => match kind {
                ResourceKind::EtcdCluster => improbable::stored_status(domain),
                ResourceKind::EtcdBackup => improbable::stored_backup_status(domain),
                ResourceKind::EtcdRestore => improbable::stored_restore_status(domain),
                // The archived operator wrote none.
                ResourceKind::EtcdBackupSchedule => domain,
            },
        }
    }
}

/// A label that names somebody, where the name is not longer than a label's value may be.
fn labels_naming(key: Option<&str>, name: &str) -> BTreeMap<String, String> {
    let label = key
        .filter(|_| name.len() <= 63)
        .map(|key| (key.to_owned(), name.to_owned()));
    label.into_iter().collect()
}

impl Resource {
    /// The dialect in which people wrote it.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        Dialect::of(&self.api_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_the_dialect_and_the_cluster() {
        for dialect in Dialect::ALL {
            let labels = dialect.labels("kv");
            assert_eq!(Dialect::of_labels(&labels), Some((dialect, "kv")));
            assert_eq!(Dialect::of(&dialect.api_version()), dialect);
            assert!(labels.keys().all(|key| dialect.is_reserved_label(key)));
        }
        assert_eq!(Dialect::of_labels(&BTreeMap::new()), None);
    }

    /// Old objects are found by these.
    #[test]
    fn the_labels_of_the_first_dialect_are_those_of_the_archived_operator() {
        assert_eq!(Dialect::Coreos.labels("kv"), names::labels("kv"));
        assert_eq!(Dialect::Coreos.selector("kv"), "app=etcd,etcd_cluster=kv");
    }

    #[test]
    fn fields_are_called_as_the_dialect_calls_them() {
        let words = "spec.size 8; set spec.pod.labels or spec.pod.persistentVolumeClaimSpec. What spec.pod asks for: \
            spec.pod.resources.limits.memory";
        assert_eq!(Dialect::Coreos.in_its_words(words.to_owned()), words);
        assert_eq!(
            Dialect::Improbable.in_its_words(words.to_owned()),
            "spec.replicas 8; set spec.podTemplate.metadata.labels or spec.storage.volumeClaimTemplate. What spec.podTemplate \
             asks for: spec.podTemplate.resources.limits.memory"
        );
    }

    /// One that both selectors find would count twice, and as somebody else's.
    #[test]
    fn children_of_the_archived_operator_are_selected_apart_from_those_made_here() {
        let selector = Dialect::Improbable.predecessors_selector("kv");
        let expected = "app.kubernetes.io/name=etcd,etcd.improbable.io/cluster-name=kv,!app";
        assert_eq!(selector.as_deref(), Some(expected));
        assert!(Dialect::Improbable.labels("kv").contains_key("app"));
        assert_eq!(Dialect::Coreos.predecessors_selector("kv"), None);
    }

    #[test]
    fn fields_of_backups_are_called_as_the_dialect_calls_them() {
        for (words, own) in [
            (
                "spec.s3 names no Secret with",
                "secretName names no Secret with",
            ),
            ("spec.etcdEndpoints: \"a\"", "spec.source.clusterURL: \"a\""),
        ] {
            assert_eq!(Dialect::Improbable.in_its_words(words.to_owned()), own);
        }
    }

    #[test]
    fn a_group_that_nobody_knows_is_read_as_the_first_dialect() {
        assert_eq!(Dialect::of("g/v"), Dialect::Coreos);
    }
}
