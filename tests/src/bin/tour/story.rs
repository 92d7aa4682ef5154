//! Applies the example and tells what happens to it, from pods, conditions and events, until it is healthy.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use contract::{ConditionStatus, EtcdClusterSpec, EtcdClusterStatus, Phase, names};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;
use tests::pods;
use tests::testbed::wait;

use crate::ground::{Ground, NAMESPACE};

const EXAMPLE: &str = include_str!("../../../../docs/examples/cluster.yaml");
/// The example's name.
const NAME: &str = "example";
/// How long it may take on a machine that is busy, with volumes and images to be had.
const HEALTHY_WITHIN: Duration = Duration::from_secs(300);

/// A cluster that is healthy.
pub(crate) struct Healthy {
    pub(crate) name: &'static str,
    pub(crate) status: EtcdClusterStatus,
}

/// Applies the example unless it is there, and waits for its health.
pub(crate) async fn watch(ground: &Ground) -> Result<Healthy> {
    let clusters = clusters(ground);
    if let Some(found) = clusters.get_opt(NAME).await? {
        ensure!(
            found.data["spec"]["size"] != 0,
            "etcdcluster/{NAME} is there and its members are stopped, as spec.size 0 asks; to start them: \
             kubectl scale etcd {NAME} --replicas=3"
        );
        println!("  etcdcluster/{NAME} is there and stays as it is");
    } else {
        ground
            .kubectl()
            .run_with_input(
                &["apply", "--namespace", NAMESPACE, "--filename", "-"],
                EXAMPLE,
            )
            .await?;
        println!("  applied docs/examples/cluster.yaml");
    }
    let mut teller = Teller::new();
    let healthy = wait::until("the health of the cluster", HEALTHY_WITHIN, async || {
        look(&clusters).await
    });
    tokio::pin!(healthy);
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    let status = loop {
        tokio::select! {
            healthy = &mut healthy => break healthy,
            // A look that fails is followed by another.
            _ = looks.tick() => drop(teller.tell(ground, &clusters).await),
        }
    };
    teller.tell(ground, &clusters).await?;
    let status = status.with_context(|| format!("`kubectl describe etcd {NAME}` says more"))?;
    println!(
        "  {:>6}  {} of {} members are healthy; etcd {}, cluster {}",
        teller.clock(),
        status.ready_members,
        status.size,
        status.current_version,
        status
            .cluster_id
            .map(|id| id.to_string())
            .unwrap_or_default()
    );
    Ok(Healthy { name: NAME, status })
}

fn clusters(ground: &Ground) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: contract::GROUP.to_owned(),
        version: contract::VERSION.to_owned(),
        api_version: format!("{}/{}", contract::GROUP, contract::VERSION),
        kind: contract::KIND.to_owned(),
        plural: contract::PLURAL.to_owned(),
    };
    Api::namespaced_with(ground.client(), NAMESPACE, &resource)
}

/// The status of the cluster if it is as its spec asks.
async fn look(clusters: &Api<DynamicObject>) -> Result<EtcdClusterStatus> {
    let found = clusters.get(NAME).await?;
    let spec: EtcdClusterSpec = part(&found, "spec")?;
    let status: EtcdClusterStatus = part(&found, "status")?;
    ensure!(status.phase == Phase::Running, "the cluster has not formed");
    if status.ready_members != spec.size || status.size != spec.size {
        bail!(
            "{} of {} members are healthy",
            status.ready_members,
            spec.size
        );
    }
    Ok(status)
}

fn part<T: DeserializeOwned + Default>(object: &DynamicObject, name: &str) -> Result<T> {
    match object.data.get(name) {
        Some(value) => Ok(serde_json::from_value(value.clone())?),
        None => Ok(T::default()),
    }
}

/// Says each new thing once.
struct Teller {
    started: Instant,
    said: BTreeMap<String, String>,
}

impl Teller {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            said: BTreeMap::new(),
        }
    }

    fn clock(&self) -> String {
        format!("{:.1}s", self.started.elapsed().as_secs_f32())
    }

    fn say(&mut self, about: String, what: String) {
        if self.said.get(&about) != Some(&what) {
            println!("  {:>6}  {about:<24}  {what}", self.clock());
            self.said.insert(about, what);
        }
    }

    async fn tell(&mut self, ground: &Ground, clusters: &Api<DynamicObject>) -> Result<()> {
        let Some(cluster) = clusters.get_opt(NAME).await? else {
            return Ok(());
        };
        let uid = cluster.uid().unwrap_or_default();
        let ours = ListParams::default().labels(&format!("{}={NAME}", names::CLUSTER_LABEL));
        let members: Api<Pod> = Api::namespaced(ground.client(), NAMESPACE);
        for pod in members.list(&ours).await? {
            // A cluster of the same name may have been deleted a moment ago.
            if pod.owner_references().iter().any(|owner| owner.uid == uid) {
                self.say(format!("pod {}", pod.name_any()), pods::state(&pod));
            }
        }
        let ours = ListParams::default().fields(&format!("regarding.uid={uid}"));
        let events: Api<Event> = Api::namespaced(ground.client(), NAMESPACE);
        let mut events = events.list(&ours).await?.items;
        events.sort_by_key(|event| event.event_time.clone().map(|time| time.0));
        for event in events {
            let reason = event.reason.unwrap_or_default();
            self.say(format!("event {reason}"), event.note.unwrap_or_default());
        }
        let status: EtcdClusterStatus = part(&cluster, "status")?;
        for condition in status.conditions {
            // What holds needs saying, and that a cluster is not available.
            if condition.status == ConditionStatus::True || condition.kind == "Available" {
                let about = format!("{} {:?}", condition.kind, condition.status);
                self.say(about, beginning(&condition.message));
            }
        }
        Ok(())
    }
}

/// The first sentence; members' own states follow it and are told pod by pod.
fn beginning(message: &str) -> String {
    let end = message.find(". ").map_or(message.len(), |end| end + 1);
    message[..end].to_owned()
}
