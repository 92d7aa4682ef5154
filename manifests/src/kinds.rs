//! The one list of kinds that Binnacle serves. Definitions, the bundle's owned APIs, its examples and its form fields all
//! follow from it: a kind is added here and nowhere else.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crd;

/// A kind as people meet it in a catalog.
pub(crate) struct Kind {
    /// The file of its definition, from the top of the checkout.
    pub(crate) file: &'static str,
    /// Its definition.
    pub(crate) definition: fn() -> Result<CustomResourceDefinition, serde_json::Error>,
    /// Its title.
    pub(crate) title: &'static str,
    /// One sentence on what it is for.
    pub(crate) purpose: &'static str,
    /// Version and kind of what belongs to one of it: what the operator makes for it, else what it reads for it.
    pub(crate) makes: &'static [(&'static str, &'static str)],
    /// YAML that works as pasted.
    pub(crate) example: &'static str,
    /// Fields that are shown other than their type says, and whose inner fields are not shown one by one.
    pub(crate) widgets: &'static [(&'static str, &'static str)],
}

const ADVANCED: &str = "urn:alm:descriptor:com.tectonic.ui:advanced";
const SECRET: &str = "urn:alm:descriptor:io.kubernetes:Secret";

/// Every kind, in the order in which people meet them.
pub(crate) static KINDS: [Kind; 9] = [
    ETCD_CLUSTER,
    ETCD_BACKUP,
    ETCD_RESTORE,
    RECONCILER_MODULE,
    IMPROBABLE_CLUSTER,
    IMPROBABLE_PEER,
    IMPROBABLE_BACKUP,
    IMPROBABLE_SCHEDULE,
    IMPROBABLE_RESTORE,
];

const ETCD_CLUSTER: Kind = Kind {
    file: "manifests/crds/etcdclusters.yaml",
    definition: crd::etcd_cluster,
    title: "etcd cluster",
    purpose: "A cluster of etcd members that is born, healed, resized and upgraded without losing an acknowledged write.",
    makes: &[
        ("v1", "Pod"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Secret"),
        ("v1", "Service"),
        ("policy/v1", "PodDisruptionBudget"),
    ],
    example: include_str!("../../docs/examples/cluster.yaml"),
    widgets: &[
        ("spec.size", "urn:alm:descriptor:com.tectonic.ui:podCount"),
        ("spec.quorumRecovery", ADVANCED),
        ("spec.pod.affinity", ADVANCED),
        ("spec.pod.annotations", ADVANCED),
        ("spec.pod.etcdEnv", ADVANCED),
        ("spec.pod.imagePullSecrets", ADVANCED),
        ("spec.pod.labels", ADVANCED),
        ("spec.pod.nodeSelector", ADVANCED),
        ("spec.pod.persistentVolumeClaimSpec", ADVANCED),
        ("spec.pod.priorityClassName", ADVANCED),
        (
            "spec.pod.resources",
            "urn:alm:descriptor:com.tectonic.ui:resourceRequirements",
        ),
        ("spec.pod.securityContext", ADVANCED),
        ("spec.pod.tolerations", ADVANCED),
        ("spec.pod.topologySpreadConstraints", ADVANCED),
        ("spec.TLS.static.member.peerSecret", SECRET),
        ("spec.TLS.static.member.serverSecret", SECRET),
        ("spec.TLS.static.operatorSecret", SECRET),
        (
            "status.conditions",
            "urn:alm:descriptor:io.kubernetes.conditions",
        ),
        (
            "status.members",
            "urn:alm:descriptor:com.tectonic.ui:podStatuses",
        ),
        ("status.phase", "urn:alm:descriptor:io.kubernetes.phase"),
        (
            "status.reason",
            "urn:alm:descriptor:io.kubernetes.phase:reason",
        ),
        (
            "status.serviceName",
            "urn:alm:descriptor:io.kubernetes:Service",
        ),
    ],
};

const ETCD_BACKUP: Kind = Kind {
    file: "manifests/crds/etcdbackups.yaml",
    definition: crd::etcd_backup,
    title: "etcd backup",
    purpose: "A backup of an etcd cluster, taken once or again and again, and read back whole before it counts as one.",
    makes: &[("v1", "Secret")],
    example: include_str!("../../docs/examples/backup.yaml"),
    widgets: &[
        ("spec.clientTLSSecret", SECRET),
        ("spec.s3.awsSecret", SECRET),
    ],
};

const ETCD_RESTORE: Kind = Kind {
    file: "manifests/crds/etcdrestores.yaml",
    definition: crd::etcd_restore,
    title: "etcd restore",
    purpose: "The wish for an etcd cluster to go on from a backup, which is read whole before anything is touched.",
    makes: &[("v1", "Secret")],
    example: include_str!("../../docs/examples/restore.yaml"),
    widgets: &[
        ("spec.replaces", ADVANCED),
        ("spec.bumpRevision", ADVANCED),
        ("spec.s3.awsSecret", SECRET),
        ("status.phase", "urn:alm:descriptor:io.kubernetes.phase"),
        (
            "status.reason",
            "urn:alm:descriptor:io.kubernetes.phase:reason",
        ),
    ],
};

const IMPROBABLE_CLUSTER: Kind = Kind {
    file: "manifests/crds/improbable_etcdclusters.yaml",
    definition: crd::improbable_cluster,
    title: "etcd cluster (improbable)",
    purpose: "An etcd cluster in the words of improbable's etcd-cluster-operator.",
    makes: &[
        ("v1", "Pod"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Secret"),
        ("v1", "Service"),
        ("policy/v1", "PodDisruptionBudget"),
        ("etcd.improbable.io/v1alpha1", "EtcdPeer"),
    ],
    example: include_str!("../../docs/examples/improbable-cluster.yaml"),
    widgets: &[
        (
            "spec.replicas",
            "urn:alm:descriptor:com.tectonic.ui:podCount",
        ),
        ("spec.quorumRecovery", ADVANCED),
        ("spec.podTemplate", ADVANCED),
        ("spec.storage", ADVANCED),
        ("spec.tls.static.member.peerSecret", SECRET),
        ("spec.tls.static.member.serverSecret", SECRET),
        ("spec.tls.static.operatorSecret", SECRET),
        (
            "status.conditions",
            "urn:alm:descriptor:io.kubernetes.conditions",
        ),
        (
            "status.memberNames",
            "urn:alm:descriptor:com.tectonic.ui:podStatuses",
        ),
        ("status.phase", "urn:alm:descriptor:io.kubernetes.phase"),
        (
            "status.reason",
            "urn:alm:descriptor:io.kubernetes.phase:reason",
        ),
        (
            "status.serviceName",
            "urn:alm:descriptor:io.kubernetes:Service",
        ),
    ],
};

const IMPROBABLE_PEER: Kind = Kind {
    file: "manifests/crds/improbable_etcdpeers.yaml",
    definition: crd::improbable_peer,
    title: "etcd peer (improbable)",
    purpose: "A member of such a cluster. The operator makes it to be looked at; nobody writes one.",
    makes: &[("v1", "Pod")],
    example: include_str!("../../docs/examples/improbable-peer.yaml"),
    widgets: &[
        ("spec.bootstrap", ADVANCED),
        ("spec.podTemplate", ADVANCED),
        ("spec.storage", ADVANCED),
    ],
};

const IMPROBABLE_BACKUP: Kind = Kind {
    file: "manifests/crds/improbable_etcdbackups.yaml",
    definition: crd::improbable_backup,
    title: "etcd backup (improbable)",
    purpose: "A backup of an etcd cluster in the words of improbable's etcd-cluster-operator, read back whole before it counts as one.",
    makes: &[("v1", "Secret")],
    example: include_str!("../../docs/examples/improbable-backup.yaml"),
    widgets: &[
        ("spec.destination.secretName", SECRET),
        ("spec.source.clientTLSSecret", SECRET),
        ("spec.backupPolicy", ADVANCED),
        ("status.phase", "urn:alm:descriptor:io.kubernetes.phase"),
        (
            "status.Reason",
            "urn:alm:descriptor:io.kubernetes.phase:reason",
        ),
    ],
};

const IMPROBABLE_SCHEDULE: Kind = Kind {
    file: "manifests/crds/improbable_etcdbackupschedules.yaml",
    definition: crd::improbable_schedule,
    title: "etcd backup schedule (improbable)",
    purpose: "Backups of an etcd cluster again and again, each an etcd backup of its own, in the words of improbable's etcd-cluster-operator.",
    makes: &[("etcd.improbable.io/v1alpha1", "EtcdBackup")],
    example: include_str!("../../docs/examples/improbable-schedule.yaml"),
    widgets: &[
        ("spec.backupTemplate", ADVANCED),
        ("spec.backupSpec", ADVANCED),
        (
            "status.conditions",
            "urn:alm:descriptor:io.kubernetes.conditions",
        ),
    ],
};

const IMPROBABLE_RESTORE: Kind = Kind {
    file: "manifests/crds/improbable_etcdrestores.yaml",
    definition: crd::improbable_restore,
    title: "etcd restore (improbable)",
    purpose: "The wish for a new etcd cluster that is born from a backup, in the words of improbable's etcd-cluster-operator.",
    makes: &[("etcd.improbable.io/v1alpha1", "EtcdCluster")],
    example: include_str!("../../docs/examples/improbable-restore.yaml"),
    widgets: &[
        ("spec.source.secretName", SECRET),
        ("spec.bumpRevision", ADVANCED),
        ("spec.clusterTemplate", ADVANCED),
        ("status.phase", "urn:alm:descriptor:io.kubernetes.phase"),
        (
            "status.reason",
            "urn:alm:descriptor:io.kubernetes.phase:reason",
        ),
    ],
};

const RECONCILER_MODULE: Kind = Kind {
    file: "manifests/crds/reconcilermodules.yaml",
    definition: crd::reconciler_module,
    title: "Reconciler module",
    purpose: "The module that decides for clusters: tried as a Shadow, given some clusters as a Canary, or Active for all of them.",
    makes: &[("v1", "ConfigMap")],
    example: include_str!("../../docs/examples/shadow.yaml"),
    widgets: &[
        ("spec.clusters", ADVANCED),
        (
            "status.conditions",
            "urn:alm:descriptor:io.kubernetes.conditions",
        ),
        ("status.phase", "urn:alm:descriptor:io.kubernetes.phase"),
    ],
};
