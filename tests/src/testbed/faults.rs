//! Ways to hurt a running testbed: nodes, members of etcd, volumes, the API server.
//!
//! Each hurts at once and returns; whether anyone noticed is for the caller to wait for.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{Api, Client};
use rustix::process::Signal;

use super::command::Command;
use super::layout::{Block, Layout, NODES};
use super::node::Parts;
use super::process::signal;
use super::{Testbed, cgroups, cluster, control_plane, network, tools, volumes, wait};

/// One node of a testbed.
#[derive(Clone)]
pub struct Node {
    layout: Layout,
    block: Block,
    number: u8,
    client: Client,
}

impl Node {
    /// Its name in Kubernetes.
    #[must_use]
    pub fn name(&self) -> String {
        Layout::node_name(self.number)
    }

    /// Partitions it: kubelet, pods and everyone else lose each other.
    pub async fn cut(&self) -> Result<()> {
        network::set_link(&self.layout, self.number, false).await?;
        // The host's way to Services leads through some node that is still there.
        for number in 1..=NODES {
            if network::is_linked(&self.layout, number).await? {
                return network::route_services(self.block, number).await;
            }
        }
        Ok(())
    }

    /// Ends the partition.
    pub async fn mend(&self) -> Result<()> {
        network::set_link(&self.layout, self.number, true).await
    }

    /// Ends the kubelet; its pods run on.
    pub async fn stop_kubelet(&self) -> Result<()> {
        self.parts().kubelet().stop(Duration::from_secs(2)).await
    }

    /// Starts the kubelet.
    pub async fn start_kubelet(&self) -> Result<()> {
        self.parts().start_kubelet().await
    }

    /// Waits until Kubernetes calls it Ready, or no longer does.
    pub async fn becomes(&self, ready: bool, within: Duration) -> Result<()> {
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(self.client.clone());
        let name = self.name();
        let wanted = if ready { "Ready" } else { "not Ready" };
        wait::until(format!("{name} becoming {wanted}"), within, async || {
            ensure!(
                cluster::is_node_ready(&nodes.get(&name).await?) == ready,
                "it is not {wanted}"
            );
            Ok(())
        })
        .await
    }

    fn parts(&self) -> Parts<'_> {
        Parts::new(&self.layout, self.block, self.number)
    }
}

impl Testbed {
    /// Its nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        (1..=NODES).map(|number| self.node_number(number)).collect()
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Result<Node> {
        let node = self.nodes().into_iter().find(|node| node.name() == name);
        node.with_context(|| format!("the testbed has no node {name}"))
    }

    fn node_number(&self, number: u8) -> Node {
        Node {
            layout: self.layout.clone(),
            block: self.record.block,
            number,
            client: self.client(),
        }
    }

    /// Ends the first process of a pod's etcd container, as a crash or the kernel's memory killer would.
    pub async fn kill_member(&self, namespace: &str, pod: &str) -> Result<()> {
        signal(self.member_process(namespace, pod).await?, Signal::KILL)
    }

    /// Stops that process without ending it: its connections stay open and unanswered.
    pub async fn freeze_member(&self, namespace: &str, pod: &str) -> Result<()> {
        signal(self.member_process(namespace, pod).await?, Signal::STOP)
    }

    /// Lets it go on.
    pub async fn thaw_member(&self, namespace: &str, pod: &str) -> Result<()> {
        signal(self.member_process(namespace, pod).await?, Signal::CONT)
    }

    /// Drops all traffic of a pod, both ways; its node and its neighbours are untouched.
    pub async fn cut_pod(&self, namespace: &str, pod: &str) -> Result<()> {
        let rules = "add table inet testbed\n\
             add chain inet testbed in { type filter hook input priority 0; policy drop; }\n\
             add chain inet testbed out { type filter hook output priority 0; policy drop; }\n\
             add rule inet testbed in iifname lo accept\n\
             add rule inet testbed out oifname lo accept\n";
        self.filter(namespace, pod, rules).await
    }

    /// Refuses what a pod sends to a port of an address; what comes from there to the pod's own ports is untouched.
    pub async fn refuse_way(&self, namespace: &str, pod: &str, to: &str, port: u16) -> Result<()> {
        let rules = format!(
            "add table inet testbed\n\
             add chain inet testbed out {{ type filter hook output priority 0; }}\n\
             add rule inet testbed out ip daddr {to} tcp dport {port} reject with tcp reset\n"
        );
        self.filter(namespace, pod, &rules).await
    }

    /// Lets a pod that was cut talk again.
    pub async fn mend_pod(&self, namespace: &str, pod: &str) -> Result<()> {
        self.filter(namespace, pod, "delete table inet testbed\n")
            .await
    }

    /// Changes the packet filter of a pod's own network namespace.
    async fn filter(&self, namespace: &str, pod: &str, rules: &str) -> Result<()> {
        let process = self.member_process(namespace, pod).await?.to_string();
        let nft = Command::new("nsenter").args(["--target", &process, "--net", "nft", "-f", "-"]);
        nft.run_with_input(rules).await.map(drop)
    }

    /// The host's id of the first process of the container `etcd`, or of the first container.
    pub async fn member_process(&self, namespace: &str, pod: &str) -> Result<u32> {
        let found = self.pod(namespace, pod).await?;
        let node = found.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let node = self.node(&node.with_context(|| format!("{namespace}/{pod} is on no node"))?)?;
        let containers = found
            .status
            .and_then(|status| status.container_statuses)
            .unwrap_or_default();
        let container = containers
            .iter()
            .find(|one| one.name == "etcd")
            .or_else(|| containers.first());
        let id = container.and_then(|container| container.container_id.as_deref());
        let id = id.and_then(|id| id.strip_prefix("containerd://"));
        node.parts().container_process(
            id.with_context(|| format!("{namespace}/{pod} has no container yet"))?,
        )
    }

    /// Removes all data from the volume of a claim, under the feet of whoever uses it.
    pub async fn wipe_volume(&self, namespace: &str, claim: &str) -> Result<()> {
        volumes::empty(&self.volume_folder(namespace, claim).await?)
    }

    /// Fills the volume of a claim of the class `local-small` to the last byte.
    pub async fn fill_volume(&self, namespace: &str, claim: &str) -> Result<()> {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client(), namespace);
        let class = claims
            .get(claim)
            .await?
            .spec
            .and_then(|spec| spec.storage_class_name);
        ensure!(
            class.as_deref() == Some(volumes::SMALL),
            "claim {namespace}/{claim} would fill this machine's disk; only {} has limits",
            volumes::SMALL
        );
        volumes::fill(&self.volume_folder(namespace, claim).await?)
    }

    /// Lets a member's process write so often in a second to the disk that its volume is on, or as often as it likes.
    pub async fn slow_disk(
        &self,
        namespace: &str,
        member: &str,
        writes: Option<u32>,
    ) -> Result<()> {
        let process = self.member_process(namespace, member).await?;
        let folder = self.volume_folder(namespace, member).await?;
        cgroups::slow_disk(process, &folder, writes)
    }

    /// The folder on this machine that is the claim's volume.
    pub async fn volume_folder(&self, namespace: &str, claim: &str) -> Result<std::path::PathBuf> {
        volumes::folder_of_claim(&self.layout, &self.client, namespace, claim).await
    }

    /// Ends the API server at once.
    pub async fn stop_api_server(&self) -> Result<()> {
        control_plane::stop_api_server(&self.layout).await
    }

    /// Starts the API server and waits until it is ready.
    pub async fn start_api_server(&self) -> Result<()> {
        control_plane::start_api_server(&self.layout, self.record.block).await
    }

    /// Runs etcdctl on this machine against a pod, by `http` or `https`.
    pub async fn etcdctl(
        &self,
        namespace: &str,
        pod: &str,
        scheme: &str,
        args: &[&str],
    ) -> Result<String> {
        let address = self.pod_address(namespace, pod).await?;
        let mut all = vec![format!("--endpoints={scheme}://{address}:2379")];
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        Command::new(tools::etcd_program("etcdctl")?)
            .args(all)
            .run()
            .await
    }

    /// Runs a program in a pod's first container.
    pub async fn exec(&self, namespace: &str, pod: &str, command: &[&str]) -> Result<String> {
        self.kubectl_command()?
            .args(["-n", namespace, "exec", pod, "--"])
            .args(command)
            .run()
            .await
    }

    /// Runs kubectl as the administrator and answers what it printed.
    pub async fn run_kubectl(&self, args: &[&str], input: &str) -> Result<String> {
        self.kubectl_command()?
            .args(args)
            .run_with_input(input)
            .await
    }

    /// The address of a pod; this machine reaches it.
    pub async fn pod_address(&self, namespace: &str, pod: &str) -> Result<IpAddr> {
        let address = self
            .pod(namespace, pod)
            .await?
            .status
            .and_then(|status| status.pod_ip);
        let address = address.ok_or_else(|| anyhow!("{namespace}/{pod} has no address yet"))?;
        Ok(address.parse()?)
    }

    fn kubectl_command(&self) -> Result<Command> {
        Ok(Command::new(self.kubectl()?)
            .arg("--kubeconfig")
            .arg(self.kubeconfig()))
    }

    async fn pod(&self, namespace: &str, pod: &str) -> Result<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.client(), namespace);
        pods.get(pod)
            .await
            .with_context(|| format!("pod {namespace}/{pod}"))
    }
}
