//! Turns the stored spec into a cluster that can be built, or says what is invalid about it.
//!
//! The raw spec stops here: later stages know only [`Cluster`]. Looks at no other object.

mod pod;

use std::collections::BTreeSet;

use contract::{
    Dialect, EtcdClusterSpec, EtcdClusterStatus, Finding, FindingKind, MemberHealth, PodPolicy,
    QUOTA_VARIABLE, QuorumRecovery, Reason, Resource, TlsPolicy, TlsRole, TlsSecrets, names,
};
use pod::{check_pod, with_settings};
use semver::Version;

use crate::tls::Tls;
use crate::{build, stored};

/// Version when the spec names none.
const DEFAULT_VERSION: Version = Version::new(3, 6, 16);
/// The minor versions of etcd 3 that this operator runs.
const MINORS: std::ops::RangeInclusive<u64> = 4..=7;
/// etcd's documentation advises against more.
const LARGEST: i64 = 7;
/// etcd's own bound when nothing sets one, in bytes (`DefaultQuotaBytes` of its server).
const DEFAULT_QUOTA: i64 = 2 * 1024 * 1024 * 1024;

/// A cluster that can be built.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) dialect: Dialect,
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// Wanted members, with 0 for none that runs; none when the asked number cannot be followed: the cluster keeps the members it has.
    pub(crate) size: Option<usize>,
    pub(crate) version: Version,
    pub(crate) image: String,
    repository: String,
    /// Why members keep the image that they have: what the spec asks for cannot be followed.
    pub(crate) keeps_images: Option<String>,
    /// The repository is that of an image which some member has, and not the one that the spec asks for.
    pub(crate) is_of_another_repository: bool,
    /// `spec.upgrade.throughMinors`.
    pub(crate) through_minors: bool,
    pub(crate) paused: bool,
    pub(crate) consent: Option<QuorumRecovery>,
    /// `spec.pod`, with the settings of `spec.etcd` in its environment.
    pub(crate) pod: PodPolicy,
    /// What pods made from `pod` are marked with.
    pub(crate) shape: String,
    /// The wanted generation of the authorities, where the operator makes the certificates.
    pub(crate) generation: Option<i64>,
    /// The Secrets that the spec names.
    pub(crate) wanted_tls: TlsSecrets,
    /// `spec.TLS.plainClients`.
    pub(crate) plain_clients: bool,
    /// The certificates that members use.
    pub(crate) tls: Tls,
    /// Claims that have their data at the volume's root.
    pub(crate) rooted: BTreeSet<String>,
    /// Pods that the archived operator made are to be made anew.
    pub(crate) renews_old_pods: bool,
    /// What a person should know of this spec, although it can be followed.
    pub(crate) findings: Vec<Finding>,
}

impl Cluster {
    /// Whether members keep their data on volume claims.
    pub(crate) const fn has_volumes(&self) -> bool {
        self.pod.persistent_volume_claim_spec.is_some()
    }

    /// Bytes a member's data file may reach, as the spec has it; below zero there is no bound. Members before 3.6 do
    /// not tell it themselves.
    pub(crate) fn quota(&self) -> i64 {
        let set = self
            .pod
            .etcd_env
            .iter()
            .flatten()
            .rev()
            .find(|variable| variable.name == QUOTA_VARIABLE);
        set.and_then(|variable| variable.value.as_deref()?.parse().ok())
            .filter(|quota| *quota != 0)
            .unwrap_or(DEFAULT_QUOTA)
    }

    /// The image of another version, from the same repository.
    pub(crate) fn image_of(&self, version: &Version) -> String {
        format!("{}:v{version}", self.repository)
    }

    /// Where peers reach a member.
    pub(crate) fn peer_url(&self, member: &str) -> String {
        let scheme = self.tls.peer_scheme(member);
        url(scheme, &self.host(member), names::PEER_PORT)
    }

    /// Where clients reach a member.
    pub(crate) fn client_url(&self, member: &str) -> String {
        let scheme = self.tls.client_scheme();
        url(scheme, &self.host(member), names::CLIENT_PORT)
    }

    fn host(&self, member: &str) -> String {
        let domain = self.pod.cluster_domain.as_deref().unwrap_or_default();
        names::member_host(member, &self.name, &self.namespace, domain)
    }
}

/// Every member has its URLs in every decision, so it goes without the machinery of `format!`.
fn url(scheme: &str, host: &str, port: i32) -> String {
    [scheme, "://", host, ":", &port.to_string()].concat()
}

/// Validates what is stored.
///
/// # Errors
/// The first thing that makes the spec impossible to follow, as a finding for people.
pub(crate) fn validate(resource: &Resource) -> Result<Cluster, Finding> {
    let spec: EtcdClusterSpec = serde_path(&resource.spec)?;
    let dialect = resource.dialect();
    check_name(&resource.name)?;
    let wanted_tls = check_tls(spec.tls.as_ref(), &resource.name)?;
    let plain_clients = spec.tls.as_ref().is_some_and(|tls| tls.plain_clients);
    let mut findings = Vec::new();
    let version = check_version(spec.version.as_deref(), &mut findings)?;
    let repository = check_repository(spec.repository.as_deref())?;
    let is_set = resource
        .spec
        .get("size")
        .is_some_and(|size| !size.is_null());
    let size = check_size(is_set, spec.size, &mut findings);
    let pod = check_pod(dialect, spec.pod.unwrap_or_default(), &mut findings)?;
    let settings = spec.etcd.unwrap_or_default();
    let pod = with_settings(pod, &settings, &mut findings)?;
    Ok(Cluster {
        dialect,
        name: resource.name.clone(),
        namespace: resource.namespace.clone(),
        size,
        image: format!("{repository}:v{version}"),
        repository: repository.to_owned(),
        keeps_images: None,
        is_of_another_repository: false,
        version,
        through_minors: spec.upgrade.is_some_and(|upgrade| upgrade.through_minors),
        paused: spec.paused.unwrap_or_default(),
        shape: build::shape(&pod),
        renews_old_pods: resource
            .annotations
            .get(names::OLD_PODS_ANNOTATION)
            .is_some_and(|value| value == names::RENEW),
        consent: spec.quorum_recovery,
        pod,
        generation: spec
            .tls
            .and_then(|tls| tls.auto)
            .map(|auto| auto.generation.unwrap_or(1)),
        wanted_tls,
        plain_clients,
        tls: Tls::default(),
        rooted: BTreeSet::new(),
        findings,
    })
}

/// The cluster as it runs, where nothing but the version or the repository that the spec asks for makes it impossible to
/// follow: whoever runs is healed all the same. None where that is not so, or nothing has formed yet.
pub(crate) fn as_it_runs(
    resource: &Resource,
    memory: &EtcdClusterStatus,
    invalid: &Finding,
) -> Option<Cluster> {
    memory.cluster_id?;
    // What cannot be read, the host cannot judge by either.
    let asked = serde_path(&resource.spec).ok()?;
    // Who is down may have an image that never ran.
    let images = memory.member_records.iter().filter_map(|record| {
        let (repository, tag) = record.image.as_deref()?.rsplit_once(":v")?;
        let is_down = record.health != MemberHealth::Healthy;
        Some((is_down, Version::parse(tag).ok()?, repository))
    });
    let (_, version, repository) = images.min()?;
    let mut running = resource.clone();
    let spec = running.spec.as_object_mut()?;
    spec.insert("repository".to_owned(), repository.into());
    spec.insert("version".to_owned(), version.to_string().into());
    let mut cluster = validate(&running).ok()?;
    cluster.keeps_images = Some(invalid.message.clone());
    cluster.is_of_another_repository =
        check_repository(asked.repository.as_deref()).ok() != Some(repository);
    cluster.findings.push(invalid.clone());
    Some(cluster)
}

fn serde_path(spec: &serde_json::Value) -> Result<EtcdClusterSpec, Finding> {
    stored::read(spec).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." {
            "spec".to_owned()
        } else {
            format!("spec.{path}")
        };
        invalid(format!(
            "{field} cannot be read: {}. Correct it; nothing is changed meanwhile.",
            error.into_inner()
        ))
    })
}

fn check_name(name: &str) -> Result<(), Finding> {
    if name.len() > names::LONGEST_CLUSTER_NAME {
        return Err(invalid(format!(
            "metadata.name has {} characters; at most {} leave room for the members' names. Create the cluster under \
             a shorter name.",
            name.len(),
            names::LONGEST_CLUSTER_NAME
        )));
    }
    if name.contains('.') || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(invalid(format!(
            "metadata.name \"{name}\" cannot name a Service: it must begin with a letter and hold no dot. Create the \
             cluster under another name."
        )));
    }
    Ok(())
}

fn check_version(asked: Option<&str>, findings: &mut Vec<Finding>) -> Result<Version, Finding> {
    let asked = asked.unwrap_or_default();
    let bare = asked.trim_start_matches('v');
    if bare.is_empty() {
        findings.push(note(
            Reason::AsSpecified,
            format!(
                "spec.version is not set; {DEFAULT_VERSION} is used. Set it to choose another."
            ),
        ));
        return Ok(DEFAULT_VERSION);
    }
    let version = Version::parse(bare).map_err(|error| {
        invalid(format!(
            "spec.version \"{asked}\" is not MAJOR.MINOR.PATCH ({error}). Write it like {DEFAULT_VERSION}."
        ))
    })?;
    if version.major != 3 || !MINORS.contains(&version.minor) {
        let way = if version < Version::new(3, 4, 0) {
            format!(
                "a new cluster can use {DEFAULT_VERSION}; data of 3.3 and older is first moved to 3.4.34 by its old \
                 operator or by snapshot and restore"
            )
        } else {
            format!(
                "the newest minor version it runs is 3.{}; use {DEFAULT_VERSION}",
                MINORS.end()
            )
        };
        return Err(Finding {
            kind: FindingKind::Invalid,
            reason: Reason::UnsupportedVersion,
            message: format!(
                "spec.version {version}: this operator runs etcd 3.{} to 3.{}; {way}.",
                MINORS.start(),
                MINORS.end()
            ),
            member: None,
        });
    }
    Ok(version)
}

fn check_repository(asked: Option<&str>) -> Result<&str, Finding> {
    let repository = match asked {
        None | Some("") => names::DEFAULT_REPOSITORY,
        Some(repository) => repository,
    };
    if repository.contains('@') {
        return Err(invalid(format!(
            "spec.repository \"{repository}\" holds a digest; the image is <repository>:v<version>. Leave the digest \
             out and set spec.version."
        )));
    }
    // A colon after the last slash begins a tag; one before it belongs to the registry's port.
    let last = repository.rsplit('/').next().unwrap_or(repository);
    if last.contains(':') {
        return Err(invalid(format!(
            "spec.repository \"{repository}\" holds a tag; the tag is v<version>. Leave it out and set spec.version."
        )));
    }
    if repository
        .chars()
        .any(|c| c.is_whitespace() || c.is_control())
    {
        return Err(invalid(format!(
            "spec.repository \"{repository}\" holds white space."
        )));
    }
    Ok(repository)
}

fn check_size(is_set: bool, asked: i64, findings: &mut Vec<Finding>) -> Option<usize> {
    let what = match asked {
        0 if is_set => return Some(0),
        0 => "is not set",
        1..=LARGEST => {
            if asked % 2 == 0 {
                findings.push(note(
                    Reason::EvenSize,
                    format!(
                        "spec.size {asked} tolerates no more failures than {}; an odd number is cheaper.",
                        asked - 1
                    ),
                ));
            }
            return usize::try_from(asked).ok();
        }
        i64::MIN..0 => "is negative",
        _ => "is too large: etcd gets slower, not safer, beyond 7 members",
    };
    let named = if is_set {
        format!("spec.size {asked}")
    } else {
        "spec.size".to_owned()
    };
    findings.push(invalid(format!(
        "{named} {what}. Members that exist are kept and healed. Set it to 1, 3, 5 or 7."
    )));
    None
}

/// Members that speak TLS to clients need an operator that does, too, and the other way round.
fn check_tls(policy: Option<&TlsPolicy>, cluster: &str) -> Result<TlsSecrets, Finding> {
    if policy.is_some_and(|policy| policy.auto.is_some() && policy.fixed.is_some()) {
        return Err(invalid(
            "spec.TLS has both auto and static: either the operator makes the certificates or you do. Take one of them out."
                .to_owned(),
        ));
    }
    let secrets = TlsSecrets::of(policy, cluster);
    if secrets.server.is_some() == secrets.operator.is_some() {
        return Ok(secrets);
    }
    Err(invalid(format!(
        "{} and {} belong together: members that speak TLS to clients need an operator that does, too. Give both or neither.",
        TlsRole::Operator.field(),
        TlsRole::Server.field()
    )))
}

fn invalid(message: String) -> Finding {
    Finding {
        kind: FindingKind::Invalid,
        reason: Reason::InvalidSpec,
        message,
        member: None,
    }
}

fn note(reason: Reason, message: String) -> Finding {
    Finding {
        kind: FindingKind::Note,
        reason,
        message,
        member: None,
    }
}
