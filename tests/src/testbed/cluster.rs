//! What the fresh cluster is given: its nodes' objects, its DNS, its volumes; and the wait until all of it is ready.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::control_plane::apply;
use super::images::COREDNS;
use super::layout::{Block, Layout, NODES};
use super::wait;

const OBJECTS: &str = include_str!("cluster/objects.yaml");

/// Registers the nodes with the pods' addresses that their networks are made for, before their kubelets do. Each is a
/// zone of its own.
pub(crate) async fn register_nodes(client: &Client, block: Block) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    for number in 1..=NODES {
        let name = Layout::node_name(number);
        let node = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/region": "testbed",
                "topology.kubernetes.io/zone": format!("zone-{number}"),
            }},
            "spec": {"podCIDR": block.pods_of(number), "podCIDRs": [block.pods_of(number)]},
        }))?;
        match nodes.create(&PostParams::default(), &node).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Makes the objects that every testbed has.
pub(crate) async fn furnish(layout: &Layout, block: Block) -> Result<()> {
    let objects = OBJECTS
        .replace("DNS_ADDRESS", &block.dns_service().to_string())
        .replace("DNS_IMAGE", COREDNS);
    apply(layout, &objects).await
}

/// Waits until every node is Ready and has its name server.
pub(crate) async fn ready(client: &Client, within: Duration) -> Result<()> {
    wait::until("the readiness of nodes and DNS", within, async || {
        is_ready(client).await
    })
    .await
}

/// Says what is not ready yet.
pub(crate) async fn is_ready(client: &Client) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
    let list = ListParams::default();
    let (nodes, dns) = tokio::try_join!(nodes.list(&list), sets.get_opt("coredns"))?;
    ensure!(
        nodes.items.len() == usize::from(NODES),
        "{} of {NODES} nodes are registered",
        nodes.items.len()
    );
    let waiting: Vec<_> = nodes
        .items
        .iter()
        .filter(|node| !is_node_ready(node))
        .filter_map(|node| node.metadata.name.as_deref())
        .collect();
    ensure!(waiting.is_empty(), "not Ready: {}", waiting.join(", "));
    let status = dns
        .and_then(|set| set.status)
        .ok_or_else(|| anyhow!("DNS is not there"))?;
    ensure!(
        status.number_ready == i32::from(NODES),
        "{} of {NODES} name servers are ready",
        status.number_ready
    );
    Ok(())
}

/// Whether the node says Ready.
pub(crate) fn is_node_ready(node: &Node) -> bool {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| {
        all.iter()
            .any(|one| one.type_ == "Ready" && one.status == "True")
    })
}
