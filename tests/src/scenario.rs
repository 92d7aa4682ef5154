//! One scenario's ground: a namespace of its own, with an operator that has exactly the rights of the manifests.
//!
//! The operator runs as a process of this machine under its generated ServiceAccount, so that it can be killed and its
//! recordings be read. What the operator should do is the suites' business.

mod certificates;
mod cluster;
mod deployed;
mod dialect;
mod etcd;
mod events;
mod image;
mod modules;
mod objects;
mod process;
mod resource;
pub mod spec;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::Dialect;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use manifests::Installation;
use serde_json::Value;

use crate::kubectl::Kubectl;
use crate::testbed::{Namespace, Testbed, wait};

pub use certificates::{Authority, ClientFiles, Issued, kubernetes_secret, names_of, old_secret};
pub use cluster::Cluster;
pub use deployed::Deployed;
pub use dialect::merge;
pub use etcd::{Etcd, Member};
pub use events::EventSeen;
pub use modules::ReconcilerModule;
pub use objects::Children;
pub use process::{OPERATOR_IMAGE, Operator, Programs};
pub use resource::Resource;

/// Name of the operator's ServiceAccount, Role and Deployment.
pub const OPERATOR: &str = "binnacle";
/// The definition of modules.
pub const MODULE_DEFINITION: &str = "reconcilermodules.etcd.database.coreos.com";
/// The definition of the clusters' resource.
pub const DEFINITION: &str = "etcdclusters.etcd.database.coreos.com";
/// How long ten looks may take, on a machine that does much else.
const LOOKS: Duration = Duration::from_secs(120);
/// How long the operator may take to start, on a machine that does much else.
const START: Duration = Duration::from_secs(180);

/// What all scenarios share.
#[derive(Clone)]
pub struct Suite {
    /// The cluster they run on.
    pub testbed: Testbed,
    /// The operator's program and its module.
    pub programs: Programs,
    /// Where each scenario leaves its recordings, its operator's log and the evidence of its failure.
    pub folder: PathBuf,
}

impl Suite {
    /// Installs the custom resources and clears the folder.
    pub async fn prepare(testbed: Testbed, programs: Programs, folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("{} cannot be cleared", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        let suite = Self {
            testbed,
            programs,
            folder,
        };
        for definition in definitions()? {
            suite.apply_definition(definition).await?;
        }
        Ok(suite)
    }

    /// Applies a definition of a custom resource and waits until the API server serves it.
    pub async fn apply_definition(&self, definition: Value) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.testbed.client());
        let name = definition.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.context("the definition has no name")?.to_owned();
        let params = PatchParams::apply(OPERATOR).force();
        api.patch(&name, &params, &Patch::Apply(&definition))
            .await
            .context("the definition was refused")?;
        wait::until(
            "the custom resource being served",
            Duration::from_secs(30),
            async || {
                let found = api.get(&name).await?;
                let conditions = found
                    .status
                    .and_then(|status| status.conditions)
                    .unwrap_or_default();
                let is_established = conditions
                    .iter()
                    .any(|one| one.type_ == "Established" && one.status == "True");
                ensure!(is_established, "it is not Established");
                Ok(())
            },
        )
        .await
    }

    /// A kubectl with the administrator's rights.
    pub fn kubectl(&self) -> Result<Kubectl> {
        Ok(Kubectl {
            program: self.testbed.kubectl()?,
            kubeconfig: Some(self.testbed.kubeconfig()),
        })
    }
}

/// The definition of the clusters' resource, as the manifests have it.
pub fn definition() -> Result<Value> {
    definition_of("EtcdCluster")
}

/// The definition of this kind, as the manifests have it.
pub fn definition_of(kind: &str) -> Result<Value> {
    let of_kind = |definition: &Value| {
        definition
            .pointer("/spec/names/kind")
            .and_then(Value::as_str)
            == Some(kind)
    };
    let mut all = definitions()?.into_iter();
    all.find(of_kind)
        .with_context(|| format!("the manifests have no definition of {kind}"))
}

/// The definitions of all custom resources, as the manifests have them.
pub fn definitions() -> Result<Vec<Value>> {
    let objects = manifests::objects(&Installation::default())?;
    let objects = objects.into_iter().map(|placed| placed.object);
    Ok(objects
        .filter(|object| is_kind(object, "CustomResourceDefinition"))
        .collect())
}

fn is_kind(object: &Value, kind: &str) -> bool {
    object.get("kind").and_then(Value::as_str) == Some(kind)
}

/// A namespace with the operator's rights in it, and its operator while one runs.
pub struct Scenario {
    suite: Suite,
    namespace: Namespace,
    kubeconfig: PathBuf,
    folder: PathBuf,
    operator: Option<Operator>,
    dialect: Dialect,
}

impl Scenario {
    /// Makes the namespace and the rights; no operator runs yet.
    pub async fn prepare(suite: &Suite, name: &str) -> Result<Self> {
        let namespace = suite.testbed.namespace(&short(name)).await?;
        let installation = Installation {
            namespace: namespace.name().to_owned(),
            image: String::new(),
        };
        let rights = manifests::objects(&installation)?
            .into_iter()
            .filter(|placed| placed.path.starts_with("manifests/rbac/"))
            .map(|placed| placed.object)
            .collect::<Vec<_>>();
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": rights});
        suite
            .kubectl()?
            .run_with_input(&["apply", "--filename", "-"], &list.to_string())
            .await?;
        let kubeconfig = suite
            .testbed
            .service_account_kubeconfig(namespace.name(), OPERATOR)
            .await?;
        let folder = suite.folder.join(namespace.name());
        fs::create_dir_all(&folder)?;
        Ok(Self {
            suite: suite.clone(),
            namespace,
            kubeconfig,
            folder,
            operator: None,
            dialect: Dialect::Coreos,
        })
    }

    /// The same ground, on which clusters are written in this dialect.
    #[must_use]
    pub fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// As [`Self::prepare`], with an operator that leads.
    pub async fn begin(suite: &Suite, name: &str) -> Result<Self> {
        let mut scenario = Self::prepare(suite, name).await?;
        scenario.start_operator().await?;
        Ok(scenario)
    }

    /// What all scenarios share.
    #[must_use]
    pub const fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The cluster this runs on.
    #[must_use]
    pub const fn testbed(&self) -> &Testbed {
        &self.suite.testbed
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// Where this scenario leaves what it made.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The operator that runs.
    pub fn operator(&self) -> Result<&Operator> {
        self.operator.as_ref().context("no operator runs")
    }

    /// Waits until the operator has looked at its clusters ten times more.
    pub async fn is_looked_at_again(&self) -> Result<()> {
        let looks = async || {
            let operator = self.operator()?;
            operator.metric("binnacle_passes_total", "Decided").await
        };
        let seen = looks().await?;
        wait::until("more looks of the operator", LOOKS, async || {
            let more = looks().await? - seen;
            ensure!(more >= 10.0, "it looked {more} times more");
            Ok(())
        })
        .await
    }

    /// Starts the operator with the module that ships with it, and waits until it leads.
    pub async fn start_operator(&mut self) -> Result<()> {
        let module = self.suite.programs.module.clone();
        self.start_operator_with(&module).await
    }

    /// Starts the operator with this module, and waits until it leads.
    pub async fn start_operator_with(&mut self, module: &Path) -> Result<()> {
        let program = self.suite.programs.program.clone();
        self.start(&program, module).await
    }

    /// Starts this program as the operator, and waits until it leads.
    pub async fn start_operator_as(&mut self, program: &Path) -> Result<()> {
        let module = self.suite.programs.module.clone();
        self.start(program, &module).await
    }

    async fn start(&mut self, program: &Path, module: &Path) -> Result<()> {
        let (namespace, folder) = (self.namespace.name(), &self.folder);
        let operator =
            Operator::start(program, module, namespace, &self.kubeconfig, folder).await?;
        operator.leads(START).await?;
        self.operator = Some(operator);
        Ok(())
    }

    /// Another instance of the operator, with its own folder; it competes for the lease with the first.
    pub async fn another_operator(&self) -> Result<Operator> {
        let folder = self.folder.join("another");
        fs::create_dir_all(&folder)?;
        let Programs { program, module } = &self.suite.programs;
        Operator::start(
            program,
            module,
            self.namespace.name(),
            &self.kubeconfig,
            &folder,
        )
        .await
    }

    /// An operator with the administrator's rights whose lease is in this namespace and that serves what `serving` says.
    /// It leads when this returns.
    pub async fn operator_serving(&self, serving: &[&str]) -> Result<Operator> {
        let Programs { program, module } = &self.suite.programs;
        let serving = [&["--namespace", self.namespace()], serving].concat();
        let kubeconfig = self.suite.testbed.kubeconfig();
        let operator =
            Operator::start_serving(program, module, &serving, &kubeconfig, &self.folder).await?;
        operator.leads(START).await?;
        Ok(operator)
    }

    /// Ends the operator at once, as a crash would.
    pub async fn kill_operator(&mut self) -> Result<()> {
        match self.operator.take() {
            Some(operator) => operator.kill().await,
            None => Ok(()),
        }
    }

    /// Ends the operator as Kubernetes does; its recordings are written and its lease is released.
    pub async fn stop_operator(&mut self) -> Result<()> {
        match self.operator.take() {
            Some(operator) => operator.stop().await,
            None => Ok(()),
        }
    }

    /// The cluster of this name, whether it is there or not.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Cluster {
        Cluster::new(self.suite.testbed.clone(), self.namespace.name(), name)
            .in_dialect(self.dialect)
    }

    /// Creates a cluster.
    pub async fn create(&self, name: &str, spec: Value) -> Result<Cluster> {
        let cluster = self.cluster(name);
        cluster.create(spec).await?;
        Ok(cluster)
    }

    /// Creates a cluster and waits until it is healthy.
    pub async fn create_healthy(&self, name: &str, spec: Value) -> Result<Cluster> {
        let size = spec
            .get("size")
            .and_then(Value::as_u64)
            .context("the spec has no size")?;
        let cluster = self.create(name, spec).await?;
        cluster.becomes_healthy(usize::try_from(size)?).await?;
        Ok(cluster)
    }

    /// Runs kubectl in the namespace and answers what it printed.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(arguments, "").await
    }

    /// As [`Self::kubectl`], with `input` on its standard input.
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let all = [&["--namespace", self.namespace()], arguments].concat();
        self.suite.kubectl()?.run_with_input(&all, input).await
    }

    /// What a person would look at after a failure, written into this scenario's folder; answers where.
    pub async fn keep_evidence(&self) -> PathBuf {
        let mut evidence = String::new();
        for arguments in [
            &["get", "etcd,pods,pvc,services,pdb", "--output=wide"][..],
            &["get", "events", "--sort-by=.metadata.creationTimestamp"],
            &["get", "etcd,etcdbackups,etcdrestores,rmod", "--output=yaml"],
            &["get", "ietcd,ietcdpeer", "--output=yaml"],
            &["describe", "pods"],
        ] {
            let seen = self
                .kubectl(arguments)
                .await
                .unwrap_or_else(|error| format!("{error:#}"));
            evidence.push_str(&format!("$ kubectl {}\n{seen}\n", arguments.join(" ")));
        }
        let file = self.folder.join("evidence.txt");
        let _ = fs::write(&file, evidence);
        file
    }
}

/// A beginning for the name of a namespace, which has little room.
fn short(name: &str) -> String {
    let words = name.rsplit("::").next().unwrap_or(name).replace('_', "-");
    let short: String = words.chars().take(36).collect();
    short.trim_end_matches('-').to_owned()
}
