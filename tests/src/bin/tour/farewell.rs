//! Writes and reads a key as a client would, and says what is running and what to do with it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::names;
use tests::testbed::wait;

use crate::ground::{Ground, NAMESPACE};
use crate::story::Healthy;

/// The Service may be known to a node a moment after the cluster is healthy.
const SERVED_WITHIN: Duration = Duration::from_secs(30);
/// Where the operator's pod keeps its recordings.
const RECORDINGS: &str = "/var/lib/binnacle/recordings";
/// What is written.
const GREETING: &str = "hello from binnacle";

/// Puts a key and gets it again, by the name of the Service for clients.
pub(crate) async fn write_and_read(ground: &Ground, cluster: &Healthy) -> Result<()> {
    let ready = &cluster.status.members.ready;
    let pod = ready.first().context("no member is ready")?;
    let answer = etcdctl(ground, cluster, pod, &["put", "greeting", GREETING]).await?;
    println!("  {answer}");
    let answer = etcdctl(
        ground,
        cluster,
        pod,
        &["get", "greeting", "--print-value-only"],
    )
    .await?;
    println!("  {answer}");
    ensure!(answer == GREETING, "the key does not hold what was written");
    Ok(())
}

/// Runs etcdctl against the Service from inside a pod, as a client in the cluster would.
async fn etcdctl(ground: &Ground, cluster: &Healthy, pod: &str, words: &[&str]) -> Result<String> {
    let service = names::client_service(cluster.name);
    let endpoint = format!("http://{service}.{NAMESPACE}.svc:{}", names::CLIENT_PORT);
    let quoted = words.iter().map(|word| {
        if word.contains(' ') {
            format!("'{word}'")
        } else {
            (*word).to_owned()
        }
    });
    println!(
        "  etcdctl --endpoints {endpoint} {}",
        quoted.collect::<Vec<_>>().join(" ")
    );
    let exec = [
        "exec",
        "--namespace",
        NAMESPACE,
        pod,
        "--container",
        names::ETCD_CONTAINER,
    ];
    let command = [
        &exec[..],
        &["--", "etcdctl", "--endpoints", &endpoint],
        words,
    ]
    .concat();
    let answer = wait::until("an answer through the Service", SERVED_WITHIN, async || {
        ground.kubectl().run(&command).await
    });
    Ok(answer.await?.trim().to_owned())
}

/// What is running, how to reach it, what to try, how to stop.
pub(crate) fn say(ground: &Ground, cluster: &Healthy, took: Duration) {
    let (name, pod) = (
        cluster.name,
        cluster
            .status
            .members
            .ready
            .first()
            .map_or("POD", String::as_str),
    );
    println!("\nAll of it took {} s.", took.as_secs());
    println!("\nRunning");
    println!("  Kubernetes             {}", ground.title());
    println!("  deployment/binnacle    the operator, in namespace {NAMESPACE}");
    println!(
        "  etcdcluster/{name}    etcd {} with {} members",
        cluster.status.current_version, cluster.status.size
    );
    println!("\nReach it");
    if let Some(kubeconfig) = &ground.kubectl().kubeconfig {
        println!("  export KUBECONFIG={}", kubeconfig.display());
        println!("  alias kubectl={}", ground.kubectl().program.display());
    }
    println!("  kubectl get etcd");
    println!("\nTry");
    for (command, what) in [
        (
            format!("kubectl scale etcd {name} --replicas=5"),
            "grows by one member at a time",
        ),
        (
            format!("kubectl delete pod {pod}"),
            "comes back as the same member, with its data",
        ),
        (
            format!("kubectl describe etcd {name}"),
            "what happened and why",
        ),
    ] {
        println!("  {command:<45} # {what}");
    }
    println!("\nRead its decisions, the first of them in words");
    let explain = format!("kubectl exec deployment/binnacle -- binnacle explain {RECORDINGS}");
    println!("  {explain}\n  {explain} --at 1");
    if ground.is_own() {
        println!("\nStop\n  make stop");
    } else {
        println!(
            "\nRemove\n  kubectl delete etcd {name}, then kubectl delete --filename manifests/install.yaml"
        );
    }
}
