//! The flags of `binnacle run`, as given. What absent ones mean, the settings say.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::predecessor::OldFlags;
use crate::telemetry::LogFormat;

/// Runs the operator.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Kubeconfig file. Without it: $KUBECONFIG, ~/.kube/config, or the pod's service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Reconciler module. Without it: the one that ships with the operator.
    #[arg(long, value_name = "FILE", env = "BINNACLE_MODULE")]
    pub module: Option<PathBuf>,

    /// Public key in PEM, such as cosign.pub: every module that a ReconcilerModule names must be signed with it, or is
    /// refused. Without it: only where the ReconcilerModule itself asks for a signature.
    #[arg(long, value_name = "FILE", env = "BINNACLE_MODULE_SIGNATURE_KEY")]
    pub module_signature_key: Option<PathBuf>,

    /// Who vouches for the identity that every such module must be signed by: the address of an OpenID Connect provider.
    #[arg(
        long,
        value_name = "URL",
        env = "BINNACLE_MODULE_SIGNATURE_ISSUER",
        requires = "module_signature_subject"
    )]
    pub module_signature_issuer: Option<String>,

    /// The identity that every module that a ReconcilerModule names must be signed by, without a key: an e-mail address, or
    /// the address of a workflow. Another such module is refused.
    #[arg(
        long,
        value_name = "NAME",
        env = "BINNACLE_MODULE_SIGNATURE_SUBJECT",
        requires_all = ["module_signature_issuer", "module_signature_trusted_root"]
    )]
    pub module_signature_subject: Option<String>,

    /// Whom to trust to tell identities: a trusted_root.json of Sigstore, which is read once and never fetched. Without it: no
    /// identity can be judged, and what must be signed by one is refused.
    #[arg(
        long,
        value_name = "FILE",
        env = "BINNACLE_MODULE_SIGNATURE_TRUSTED_ROOT"
    )]
    pub module_signature_trusted_root: Option<PathBuf>,

    /// The image that this operator runs in: members that are restored fetch their backup in it. Without it nothing is restored.
    #[arg(long, value_name = "IMAGE", env = "BINNACLE_OPERATOR_IMAGE")]
    pub operator_image: Option<String>,

    /// A Secret of the operator's own namespace with credentials of stores, for backups that name none. Without it: such a
    /// backup is refused.
    #[arg(long, value_name = "SECRET", env = "BINNACLE_STORE_SECRET")]
    pub store_secret: Option<String>,

    /// Namespaces to serve, separated by commas; empty means all. Without it: the operator's own.
    #[arg(long, value_name = "NAMESPACES", env = "WATCH_NAMESPACE")]
    pub watch_namespace: Option<String>,

    /// The operator's own namespace, where its lease is. Without it: that of the pod or of the kubeconfig.
    #[arg(long, value_name = "NAMESPACE", env = "MY_POD_NAMESPACE")]
    pub namespace: Option<String>,

    /// This instance's name in the lease. Without it: the host name and a random number.
    #[arg(long, value_name = "NAME", env = "MY_POD_NAME")]
    pub identity: Option<String>,

    /// Whether to act only while holding the lease. Say false only where no other instance can run.
    #[arg(long, value_name = "BOOL", env = "BINNACLE_LEADER_ELECT", default_value_t = true, action = clap::ArgAction::Set)]
    pub leader_elect: bool,

    /// The OperatorCondition in which Operator Lifecycle Manager is told when not to upgrade. Without it nobody is told.
    #[arg(long, value_name = "NAME", env = "OPERATOR_CONDITION_NAME")]
    pub operator_condition: Option<String>,

    /// Clusters that are worked on at the same time.
    #[arg(long, value_name = "N", env = "BINNACLE_CONCURRENCY", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,

    /// Address of /healthz, /readyz and /metrics.
    #[arg(
        long,
        value_name = "ADDR",
        env = "BINNACLE_LISTEN_ADDR",
        default_value = "0.0.0.0:8080"
    )]
    pub listen_addr: SocketAddr,

    /// Where recordings are kept. Without it: /var/lib/binnacle/recordings in a pod, else $XDG_STATE_HOME/binnacle/recordings.
    #[arg(long, value_name = "DIR", env = "BINNACLE_RECORDINGS_DIR")]
    pub recordings_dir: Option<PathBuf>,

    /// Disk that recordings may take; the oldest go first.
    #[arg(long, value_name = "MIB", env = "BINNACLE_RECORDINGS_MAX_MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    pub recordings_max_mib: u64,

    /// Where compiled modules are kept. Only the operator may write there. Without it: $XDG_CACHE_HOME/binnacle/compiled.
    #[arg(long, value_name = "DIR", env = "BINNACLE_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Form of the logs.
    #[arg(
        long,
        value_name = "FORMAT",
        env = "BINNACLE_LOG_FORMAT",
        value_enum,
        default_value_t
    )]
    pub log_format: LogFormat,

    /// What is logged: a level, or a list such as info,host=debug.
    #[arg(
        long,
        value_name = "FILTER",
        env = "BINNACLE_LOG",
        default_value = "info,kube=off"
    )]
    pub log: String,

    /// Flags of the archived coreos etcd-operator.
    #[command(flatten)]
    pub old: OldFlags,
}
