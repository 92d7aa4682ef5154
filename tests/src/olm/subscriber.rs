//! A namespace with an OperatorGroup and a Subscription: what a user writes, and what comes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{CATALOG, NAMESPACE};
use crate::kubectl::Kubectl;
use crate::testbed::{Namespace, Testbed, wait};

/// The package, and the name of its Subscription and Deployment.
const PACKAGE: &str = "binnacle";
/// What the Subscription asks for the operator's pod. A debug build compiles its module for long, and without a share of its
/// own it would starve on a busy machine.
pub const CPU: &str = "500m";
/// How long one step of OLM may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(240);

/// Who says yes to an InstallPlan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// OLM itself.
    Automatic,
    /// A person.
    Manual,
}

/// A namespace that subscribes to the package.
pub struct Subscriber {
    testbed: Testbed,
    kubectl: Kubectl,
    namespace: Namespace,
    catalog: &'static str,
}

impl Subscriber {
    /// A fresh namespace, without group or Subscription.
    pub async fn new(testbed: &Testbed, kubectl: &Kubectl, prefix: &str) -> Result<Self> {
        Ok(Self {
            testbed: testbed.clone(),
            kubectl: kubectl.clone(),
            namespace: testbed.namespace(prefix).await?,
            catalog: CATALOG,
        })
    }

    /// The same, who subscribes to another catalog.
    #[must_use]
    pub const fn of_catalog(mut self, catalog: &'static str) -> Self {
        self.catalog = catalog;
        self
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// The testbed.
    #[must_use]
    pub const fn testbed(&self) -> &Testbed {
        &self.testbed
    }

    /// Runs kubectl in the namespace.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let all = [&["--namespace", self.namespace()], arguments].concat();
        self.kubectl.run(&all).await
    }

    /// Writes the OperatorGroup; none of `targets` means all namespaces.
    pub async fn group(&self, targets: &[&str]) -> Result<()> {
        let spec = if targets.is_empty() {
            json!({})
        } else {
            json!({"targetNamespaces": targets})
        };
        self.write_group(&spec).await
    }

    /// Lets OLM leave a release that failed for the next one.
    pub async fn fail_forward(&self) -> Result<()> {
        let spec = json!({
            "targetNamespaces": [self.namespace()],
            "upgradeStrategy": "TechPreviewUnsafeFailForward",
        });
        self.write_group(&spec).await
    }

    async fn write_group(&self, spec: &Value) -> Result<()> {
        self.apply(&json!({
            "apiVersion": "operators.coreos.com/v1",
            "kind": "OperatorGroup",
            "metadata": {"name": PACKAGE, "namespace": self.namespace()},
            "spec": spec,
        }))
        .await
    }

    /// Writes the Subscription; OLM begins with `starting` or else with the head of the channel.
    pub async fn subscribe(
        &self,
        channel: &str,
        approval: Approval,
        starting: Option<&str>,
    ) -> Result<()> {
        let config = json!({"resources": {"requests": {"cpu": CPU, "memory": "64Mi"}}});
        self.subscribe_with(channel, approval, starting, &config)
            .await
    }

    /// The same, with what the Subscription says of the operator's pod.
    pub async fn subscribe_with(
        &self,
        channel: &str,
        approval: Approval,
        starting: Option<&str>,
        config: &Value,
    ) -> Result<()> {
        let mut spec = json!({
            "channel": channel,
            "name": PACKAGE,
            "source": self.catalog,
            "sourceNamespace": NAMESPACE,
            "installPlanApproval": format!("{approval:?}"),
            "config": config,
        });
        if let Some(version) = starting {
            spec["startingCSV"] = json!(name(version));
        }
        self.apply(&json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "Subscription",
            "metadata": {"name": PACKAGE, "namespace": self.namespace()},
            "spec": spec,
        }))
        .await
    }

    /// Approves the plan that installs a version, as the Subscription names it, and waits until it is carried out.
    ///
    /// While a bundle is unpacked OLM may put another plan in the first one's place, which has to be approved in turn.
    pub async fn approve(&self, version: &str) -> Result<()> {
        let wanted = name(version);
        wait::until(
            format!("an InstallPlan of {wanted}"),
            PATIENCE,
            async || {
                let named = [
                    "get",
                    "subscription",
                    PACKAGE,
                    "--output",
                    "jsonpath={.status.installPlanRef.name}",
                ];
                let plan = self.kubectl(&named).await?;
                ensure!(!plan.is_empty(), "there is none; {}", self.told().await);
                let text = self
                    .kubectl(&["get", "installplan", &plan, "--output=json"])
                    .await?;
                let found: Value = serde_json::from_str(&text)?;
                let installs = found["spec"]["clusterServiceVersionNames"].as_array();
                let is_wanted =
                    installs.is_some_and(|names| names.iter().any(|one| *one == wanted.as_str()));
                ensure!(
                    is_wanted,
                    "the plan {plan} installs {installs:?}; {}",
                    self.told().await
                );
                let phase = found["status"]["phase"].as_str().unwrap_or_default();
                if phase == "RequiresApproval" && found["spec"]["approved"] == false {
                    let yes = r#"{"spec":{"approved":true}}"#;
                    self.kubectl(&[
                        "patch",
                        "installplan",
                        &plan,
                        "--type=merge",
                        "--patch",
                        yes,
                    ])
                    .await?;
                }
                ensure!(phase == "Complete", "the plan {plan} is {phase}");
                Ok(())
            },
        )
        .await
    }

    /// Deletes the plans that wait for approval, which keep OLM from looking at the channel again.
    pub async fn forget_plans(&self) -> Result<()> {
        self.kubectl(&["delete", "installplans", "--all"])
            .await
            .map(drop)
    }

    /// The InstallPlans, whatever has become of them.
    pub async fn plans(&self) -> Result<Vec<Value>> {
        self.list("installplans").await
    }

    /// Waits until the Subscription has a condition whose message holds all of `words`.
    pub async fn is_told(&self, condition: &str, words: &str) -> Result<()> {
        wait::until(format!("the condition {condition}"), PATIENCE, async || {
            let show = ["get", "subscription", PACKAGE, "--output=json"];
            let found: Value = serde_json::from_str(&self.kubectl(&show).await?)?;
            let conditions = found["status"]["conditions"].as_array();
            let told = conditions
                .and_then(|all| all.iter().find(|one| one["type"] == condition))
                .with_context(|| format!("there are {conditions:?}"))?;
            let message = told["message"].as_str().unwrap_or_default();
            let is_so = told["status"] == "True" && message.contains(words);
            ensure!(is_so, "it says {told}");
            Ok(())
        })
        .await
    }

    /// Waits until the version is installed, its operator runs and the one before is gone.
    pub async fn succeeds(&self, version: &str) -> Result<()> {
        self.succeeds_within(version, PATIENCE).await
    }

    /// The same, for a way that has more than one step.
    pub async fn succeeds_within(&self, version: &str, patience: Duration) -> Result<()> {
        let wanted = name(version);
        wait::until(
            format!("{wanted} in {}", self.namespace()),
            patience,
            async || {
                let phases = self.phases().await?;
                let is_alone = phases.len() == 1
                    && phases
                        .get(&wanted)
                        .is_some_and(|phase| phase == "Succeeded");
                ensure!(is_alone, "{}", self.told().await);
                Ok(())
            },
        )
        .await
    }

    /// Waits until OLM has looked at this channel and found nothing newer than what is installed.
    pub async fn is_at_the_head(&self, channel: &str) -> Result<()> {
        let what = format!("the Subscription at the head of {channel}");
        wait::until(what, PATIENCE, async || {
            let text = self
                .kubectl(&["get", "subscription", PACKAGE, "--output=json"])
                .await?;
            let found: Value = serde_json::from_str(&text)?;
            let is_so = found["spec"]["channel"] == channel
                && found["status"]["state"] == "AtLatestKnown"
                && found["status"]["installedCSV"] == found["status"]["currentCSV"];
            ensure!(is_so, "its status is {}", found["status"]);
            Ok(())
        })
        .await
    }

    /// The phase of each ClusterServiceVersion that was installed here.
    pub async fn phases(&self) -> Result<BTreeMap<String, String>> {
        let csvs = self.list("clusterserviceversions").await?;
        Ok(csvs
            .iter()
            .filter(|csv| csv["metadata"]["labels"].get("olm.copiedFrom").is_none())
            .map(|csv| {
                let text = |pointer: &str| {
                    csv.pointer(pointer)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                (text("/metadata/name"), text("/status/phase"))
            })
            .collect())
    }

    /// Waits until the operator's pod serves exactly these namespaces; none means all.
    pub async fn serves(&self, namespaces: &[&str]) -> Result<()> {
        let mut wanted: Vec<_> = namespaces.to_vec();
        wanted.sort_unstable();
        wait::until(format!("the operator serving {wanted:?}"), PATIENCE, async || {
            let deployment = self.deployment().await?;
            let told = deployment["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"].as_str();
            let mut told: Vec<_> = told.unwrap_or("?").split(',').filter(|name| !name.is_empty()).collect();
            told.sort_unstable();
            ensure!(told == wanted, "its pod is told {told:?}; {}", self.told().await);
            let status = &deployment["status"];
            ensure!(
                status["observedGeneration"] == deployment["metadata"]["generation"]
                    && status["updatedReplicas"] == 1
                    && status["replicas"] == 1
                    && status["availableReplicas"] == 1,
                "its Deployment is not rolled out: {status}"
            );
            Ok(())
        })
        .await
    }

    /// The Deployment that OLM made.
    pub async fn deployment(&self) -> Result<Value> {
        let text = self
            .kubectl(&["get", "deployment", PACKAGE, "--output=json"])
            .await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Removes the Subscription and what it installed, as the documents say; custom resources stay.
    pub async fn uninstall(&self) -> Result<()> {
        self.kubectl(&["delete", "subscription", PACKAGE]).await?;
        for csv in self.phases().await?.keys() {
            self.kubectl(&["delete", "clusterserviceversion", csv])
                .await?;
        }
        wait::until("the operator's end", PATIENCE, async || {
            let left = self
                .kubectl(&[
                    "get",
                    "deployments,pods",
                    "--selector",
                    "app.kubernetes.io/name=binnacle",
                    "--output=name",
                ])
                .await?;
            ensure!(left.is_empty(), "there is still {left}");
            Ok(())
        })
        .await
    }

    /// What OLM says of this namespace, for a message.
    pub async fn told(&self) -> String {
        let phases = self.phases().await;
        let subscription = self
            .kubectl(&[
                "get",
                "subscription",
                PACKAGE,
                "--output",
                "jsonpath={.status.state} {.status.conditions[?(@.status=='True')]}",
            ])
            .await;
        format!("CSVs {phases:?}, Subscription {subscription:?}")
    }

    async fn list(&self, kind: &str) -> Result<Vec<Value>> {
        let text = self.kubectl(&["get", kind, "--output=json"]).await?;
        let list: Value = serde_json::from_str(&text)?;
        list["items"]
            .as_array()
            .cloned()
            .context("a list has no items")
    }

    async fn apply(&self, object: &Value) -> Result<()> {
        self.kubectl
            .run_with_input(&["apply", "--filename", "-"], &object.to_string())
            .await
            .map(drop)
    }
}

/// The name of a version's ClusterServiceVersion.
fn name(version: &str) -> String {
    format!("{PACKAGE}.v{version}")
}
