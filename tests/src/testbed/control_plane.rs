//! The control plane: etcd, API server, controller manager and scheduler, as processes of the host on its address in
//! the testbed's network.
//!
//! That address is the testbed's own, so the usual ports are free there whatever else this machine runs.

use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};

use super::command::Command;
use super::layout::{Block, Layout, NODES};
use super::pki::{Pki, Subject};
use super::process::Daemon;
use super::{tools, wait};

/// The processes in the order in which they start.
pub(crate) const PARTS: [&str; 4] = [
    "etcd",
    API_SERVER,
    "kube-controller-manager",
    "kube-scheduler",
];

pub(crate) const API_SERVER: &str = "kube-apiserver";

/// Makes every key, certificate and kubeconfig of the testbed.
pub(crate) fn make_credentials(layout: &Layout, block: Block) -> Result<()> {
    let pki = Pki::make(layout.pki())?;
    let (gateway, service) = (
        IpAddr::from(block.gateway()),
        IpAddr::from(block.api_service()),
    );
    pki.sign("etcd", &Subject::user("etcd").serving(&[], &[gateway]))?;
    let names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    pki.sign(
        API_SERVER,
        &Subject::user(API_SERVER).serving(&names, &[gateway, service]),
    )?;
    pki.sign(
        "kubelet-client",
        &Subject::in_group("kube-apiserver-kubelet-client", "system:masters"),
    )?;
    pki.sign("front-proxy", &Subject::user("front-proxy-client"))?;
    let server = block.api_url();
    let kubeconfig = |name: &str, subject: &Subject<'_>| {
        pki.kubeconfig(
            name,
            subject,
            &server,
            &layout.pki().join(format!("{name}.kubeconfig")),
        )
    };
    kubeconfig(
        "kube-controller-manager",
        &Subject::user("system:kube-controller-manager"),
    )?;
    kubeconfig("kube-scheduler", &Subject::user("system:kube-scheduler"))?;
    kubeconfig("kube-proxy", &Subject::user("system:kube-proxy"))?;
    for number in 1..=NODES {
        let name = Layout::node_name(number);
        let user = format!("system:node:{name}");
        let subject = Subject::in_group(&user, "system:nodes")
            .serving(&[&name], &[block.node(number).into()]);
        kubeconfig(&name, &subject)?;
    }
    pki.kubeconfig(
        "admin",
        &Subject::in_group("admin", "system:masters"),
        &server,
        &layout.kubeconfig(),
    )
}

/// Starts whichever part does not run and waits until the API server is ready.
pub(crate) async fn start(layout: &Layout, block: Block) -> Result<()> {
    fs::create_dir_all(layout.state().join("etcd"))?;
    layout.daemon("etcd").start(&etcd(layout, block)?).await?;
    start_api_server(layout, block).await?;
    layout
        .daemon("kube-controller-manager")
        .start(&controller_manager(layout, block)?)
        .await?;
    layout
        .daemon("kube-scheduler")
        .start(&scheduler(layout)?)
        .await?;
    Ok(())
}

/// Starts the API server and waits until it says that it is ready. One that gives up on its first steps, as it does on a
/// machine that has no time for it, is started again, as a kubelet would.
pub(crate) async fn start_api_server(layout: &Layout, block: Block) -> Result<()> {
    fs::write(layout.audit_policy(), audit_policy().to_string())?;
    let daemon = layout.daemon(API_SERVER);
    let command = api_server(layout, block)?;
    wait::until(
        "the API server's readiness",
        Duration::from_secs(300),
        async || {
            daemon.start(&command).await?;
            ensure!(is_ready(layout).await, "/readyz does not say ok");
            Ok(())
        },
    )
    .await
}

/// Whether the API server says that it is ready.
pub(crate) async fn is_ready(layout: &Layout) -> bool {
    let Ok(kubectl) = tools::kubernetes("kubectl") else {
        return false;
    };
    Command::new(kubectl)
        .arg("--kubeconfig")
        .arg(layout.kubeconfig())
        .args(["--request-timeout=2s", "get", "--raw", "/readyz"])
        .run()
        .await
        .is_ok_and(|answer| answer.trim() == "ok")
}

/// Ends all parts; what needs another goes first.
pub(crate) async fn stop(layout: &Layout) -> Result<()> {
    let stop = |name: &str, grace: u64| {
        let daemon: Daemon = layout.daemon(name);
        async move { daemon.stop(Duration::from_secs(grace)).await }
    };
    try_join_all(["kube-controller-manager", "kube-scheduler"].map(|name| stop(name, 3))).await?;
    stop(API_SERVER, 1).await?;
    stop("etcd", 3).await
}

/// Ends the API server, as a crash would.
pub(crate) async fn stop_api_server(layout: &Layout) -> Result<()> {
    layout.daemon(API_SERVER).stop(Duration::ZERO).await
}

/// The store keeps nothing that must survive this machine's loss of power, so it does not wait for the disk.
fn etcd(layout: &Layout, block: Block) -> Result<Vec<String>> {
    let (pki, gateway) = (layout.pki(), block.gateway());
    let pki = pki.display();
    Ok(vec![
        tools::etcd_program("etcd")?.display().to_string(),
        "--name=control-plane".to_owned(),
        format!("--data-dir={}", layout.state().join("etcd").display()),
        format!("--listen-client-urls=https://{gateway}:2379"),
        format!("--advertise-client-urls=https://{gateway}:2379"),
        format!("--listen-peer-urls=https://{gateway}:2380"),
        format!("--initial-advertise-peer-urls=https://{gateway}:2380"),
        format!("--initial-cluster=control-plane=https://{gateway}:2380"),
        format!("--cert-file={pki}/etcd.crt"),
        format!("--key-file={pki}/etcd.key"),
        "--client-cert-auth".to_owned(),
        format!("--trusted-ca-file={pki}/ca.crt"),
        format!("--peer-cert-file={pki}/etcd.crt"),
        format!("--peer-key-file={pki}/etcd.key"),
        "--peer-client-cert-auth".to_owned(),
        format!("--peer-trusted-ca-file={pki}/ca.crt"),
        "--unsafe-no-fsync".to_owned(),
        "--auto-compaction-retention=10m".to_owned(),
        "--log-level=warn".to_owned(),
    ])
}

fn api_server(layout: &Layout, block: Block) -> Result<Vec<String>> {
    let (pki, gateway) = (layout.pki(), block.gateway());
    let pki = pki.display();
    Ok(vec![
        tools::kubernetes(API_SERVER)?.display().to_string(),
        format!("--bind-address={gateway}"),
        format!("--advertise-address={gateway}"),
        "--secure-port=6443".to_owned(),
        format!("--tls-cert-file={pki}/{API_SERVER}.crt"),
        format!("--tls-private-key-file={pki}/{API_SERVER}.key"),
        format!("--client-ca-file={pki}/ca.crt"),
        format!("--etcd-servers=https://{gateway}:2379"),
        format!("--etcd-cafile={pki}/ca.crt"),
        format!("--etcd-certfile={pki}/etcd.crt"),
        format!("--etcd-keyfile={pki}/etcd.key"),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={pki}/service-account.pub"),
        format!("--service-account-signing-key-file={pki}/service-account.key"),
        format!("--service-cluster-ip-range={}", block.services()),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        format!("--kubelet-certificate-authority={pki}/ca.crt"),
        format!("--kubelet-client-certificate={pki}/kubelet-client.crt"),
        format!("--kubelet-client-key={pki}/kubelet-client.key"),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        // Aggregated APIs are called at their pods: this process has no kube-proxy of its own.
        "--enable-aggregator-routing".to_owned(),
        format!("--requestheader-client-ca-file={pki}/ca.crt"),
        "--requestheader-allowed-names=front-proxy-client".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        format!("--proxy-client-cert-file={pki}/front-proxy.crt"),
        format!("--proxy-client-key-file={pki}/front-proxy.key"),
        "--allow-privileged".to_owned(),
        "--profiling=false".to_owned(),
        format!("--audit-policy-file={}", layout.audit_policy().display()),
        format!("--audit-log-path={}", layout.audit_log().display()),
        // One file: a suite reads all of it.
        "--audit-log-maxsize=8192".to_owned(),
    ])
}

/// Who asked for what, where it is an operator or another service account outside Kubernetes' own namespace
/// (<https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/>).
fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": true,
        "rules": [
            {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
            {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
            {"level": "None"},
        ],
    })
}

/// A lost node is noticed in 20 s instead of 50 s, so that suites need not wait for it.
fn controller_manager(layout: &Layout, block: Block) -> Result<Vec<String>> {
    let pki = layout.pki();
    let pki = pki.display();
    Ok(vec![
        tools::kubernetes("kube-controller-manager")?
            .display()
            .to_string(),
        format!("--kubeconfig={pki}/kube-controller-manager.kubeconfig"),
        "--secure-port=0".to_owned(),
        "--leader-elect=false".to_owned(),
        "--use-service-account-credentials".to_owned(),
        format!("--service-account-private-key-file={pki}/service-account.key"),
        format!("--root-ca-file={pki}/ca.crt"),
        format!("--cluster-signing-cert-file={pki}/ca.crt"),
        format!("--cluster-signing-key-file={pki}/ca.key"),
        "--allocate-node-cidrs".to_owned(),
        format!("--cluster-cidr={}", block.pods()),
        format!("--service-cluster-ip-range={}", block.services()),
        "--node-monitor-period=2s".to_owned(),
        "--node-monitor-grace-period=20s".to_owned(),
        "--kube-api-qps=200".to_owned(),
        "--kube-api-burst=400".to_owned(),
    ])
}

fn scheduler(layout: &Layout) -> Result<Vec<String>> {
    Ok(vec![
        tools::kubernetes("kube-scheduler")?.display().to_string(),
        format!(
            "--kubeconfig={}/kube-scheduler.kubeconfig",
            layout.pki().display()
        ),
        "--secure-port=0".to_owned(),
        "--leader-elect=false".to_owned(),
        "--kube-api-qps=200".to_owned(),
        "--kube-api-burst=400".to_owned(),
    ])
}

/// Applies YAML as the administrator.
pub(crate) async fn apply(layout: &Layout, yaml: &str) -> Result<()> {
    Command::new(tools::kubernetes("kubectl")?)
        .arg("--kubeconfig")
        .arg(layout.kubeconfig())
        .args(["apply", "--server-side", "--force-conflicts", "-f", "-"])
        .run_with_input(yaml)
        .await
        .map(drop)
        .context("the testbed's own objects were not taken")
        .map_err(|error| anyhow!("{error:#}"))
}
