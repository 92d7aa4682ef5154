//! A cluster of the dialect, as kubectl shows it, with what must hold of one that is healthy.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tests::scenario::Scenario;
use tests::testbed::wait;

use super::PATIENCE;

/// As kubectl is told what is meant: the other dialect has a kind of the same name.
const KIND: &str = "etcdclusters.etcd.improbable.io";
pub(super) const PEERS: &str = "etcdpeers.etcd.improbable.io";

/// A cluster of that dialect, as kubectl shows it.
pub(super) struct Theirs<'a> {
    scenario: &'a Scenario,
    pub(super) name: &'static str,
}

impl<'a> Theirs<'a> {
    pub(super) async fn apply(
        scenario: &'a Scenario,
        manifest: &str,
        name: &'static str,
    ) -> Result<Self> {
        let arguments = ["apply", "--filename", "-"];
        scenario.kubectl_with_input(&arguments, manifest).await?;
        Ok(Self::of(scenario, name))
    }

    /// One that is there.
    pub(super) const fn of(scenario: &'a Scenario, name: &'static str) -> Self {
        Self { scenario, name }
    }

    /// etcd's id of the cluster in hex, as a member says it.
    pub(super) async fn id(&self) -> Result<Value> {
        let told = self
            .etcdctl(&["endpoint", "status", "--write-out=json"])
            .await?;
        let told: Value = serde_json::from_str(&told)?;
        let id = &told[0]["Status"]["header"]["cluster_id"];
        Ok(json!(format!("{:x}", id.as_u64().context("it has no id")?)))
    }

    pub(super) fn object(&self) -> String {
        format!("{KIND}/{}", self.name)
    }

    pub(super) async fn get(&self, what: &str) -> Result<Value> {
        let arguments = ["get", what, "--output=json"];
        Ok(serde_json::from_str(
            &self.scenario.kubectl(&arguments).await?,
        )?)
    }

    /// Objects with the labels of that operator.
    pub(super) async fn labelled(&self, kind: &str) -> Result<Vec<Value>> {
        let name = self.name;
        let selector = format!(
            "--selector=app.kubernetes.io/name=etcd,etcd.improbable.io/cluster-name={name}"
        );
        let arguments = ["get", kind, &selector, "--output=json"];
        let list: Value = serde_json::from_str(&self.scenario.kubectl(&arguments).await?)?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// The UIDs of its objects of a kind.
    pub(super) async fn uids(&self, kind: &str) -> Result<BTreeSet<String>> {
        let found = self.labelled(kind).await?;
        let uids = found
            .iter()
            .filter_map(|one| one["metadata"]["uid"].as_str());
        Ok(uids.map(str::to_owned).collect())
    }

    pub(super) async fn status(&self) -> Result<Value> {
        Ok(self.get(&self.object()).await?["status"].clone())
    }

    pub(super) async fn edit(&self, spec: &Value, flags: &[&str]) -> Result<String> {
        let (object, patch) = (self.object(), json!({"spec": spec}).to_string());
        let arguments = ["patch", &object, "--type=merge", "--patch", &patch];
        self.scenario.kubectl(&[&arguments, flags].concat()).await
    }

    /// Through the Service that clients of that operator use.
    pub(super) async fn etcdctl(&self, arguments: &[&str]) -> Result<String> {
        let pods = self.labelled("pods").await?;
        let pod = pods.first().context("there is no pod")?;
        let pod = pod["metadata"]["name"].as_str().unwrap_or_default();
        let endpoint = format!("--endpoints=http://{}:2379", self.name);
        let all = [&["exec", pod, "--", "etcdctl", &endpoint], arguments].concat();
        wait::until("etcdctl's answer", PATIENCE, async || {
            self.scenario.kubectl(&all).await
        })
        .await
    }

    pub(super) async fn becomes_healthy(&self, size: usize) -> Result<()> {
        self.runs(size, "3.6.16").await
    }

    /// Waits until a condition has all of these words.
    pub(super) async fn tells(&self, words: &[&str]) -> Result<()> {
        wait::until("words in a condition", PATIENCE, async || {
            let status = self.status().await?;
            let mut told = status["conditions"].as_array().into_iter().flatten();
            let is_told = told.any(|one| {
                let message = one["message"].as_str().unwrap_or_default();
                words.iter().all(|word| message.contains(word))
            });
            ensure!(is_told, "none has {words:?}: {}", status["conditions"]);
            Ok(())
        })
        .await
    }

    /// Waits until so many members run this version and are healthy, and all that shows it says so.
    pub(super) async fn runs(&self, size: usize, version: &str) -> Result<()> {
        let what = format!("{} with {size} healthy members of {version}", self.name);
        wait::until(what, PATIENCE, async || {
            self.is_healthy(size, version).await
        })
        .await
    }

    pub(super) async fn is_healthy(&self, size: usize, version: &str) -> Result<()> {
        let stored = self.get(&self.object()).await?;
        let status = &stored["status"];
        let told = &status["conditions"];
        ensure!(
            status["observedGeneration"] == stored["metadata"]["generation"],
            "the spec was not looked at yet"
        );
        for (kind, wanted) in [
            ("Available", "True"),
            ("Degraded", "False"),
            ("Progressing", "False"),
            ("Scaling", "False"),
        ] {
            let mut conditions = told.as_array().into_iter().flatten();
            let is_so = conditions.any(|one| one["type"] == kind && one["status"] == wanted);
            ensure!(is_so, "{kind} is not {wanted}: {told}");
        }
        ensure!(
            status["replicas"] == size && status["readyMembers"] == size,
            "its status is {status}"
        );
        let minor = version.rsplit_once('.').context("no version")?.0;
        let cluster_version = format!("{minor}.0");
        let members = status["members"].as_array().context("no members")?;
        let names: BTreeSet<&str> = members
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        ensure!(names.len() == size, "status.members is {members:?}");
        ensure!(
            status["clusterVersion"] == cluster_version,
            "its status is {status}"
        );
        for kind in ["pods", "pvc", PEERS] {
            let found = self.labelled(kind).await?;
            let found: BTreeSet<&str> = found
                .iter()
                .filter_map(|one| one["metadata"]["name"].as_str())
                .collect();
            ensure!(found == names, "{kind} are {found:?}, members {names:?}");
        }
        for peer in self.labelled(PEERS).await? {
            let answered = &peer["status"]["serverVersion"];
            ensure!(
                *answered == version,
                "{} answers {answered}",
                peer["metadata"]["name"]
            );
        }
        Ok(())
    }

    /// By columns and short names that do not get into the way of the other dialect's.
    pub(super) async fn is_shown(&self) -> Result<()> {
        let shown = self.scenario.kubectl(&["get", "ietcd", self.name]).await?;
        for word in ["REPLICAS", "READY", "VERSION", "3.6.0", "Running"] {
            ensure!(shown.contains(word), "kubectl shows {shown}");
        }
        let peers = self.scenario.kubectl(&["get", "ietcdpeer"]).await?;
        ensure!(peers.contains("3.6.16"), "kubectl shows {peers}");
        for theirs in ["etcd", "etcdcluster", "etcdclusters"] {
            let arguments = ["get", theirs, "--output=name"];
            let shown = self.scenario.kubectl(&arguments).await?;
            ensure!(shown.is_empty(), "{theirs} means {shown}");
        }
        Ok(())
    }
}
