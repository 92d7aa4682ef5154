//! What stays when the operator goes, and the next one that finds it.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};

use crate::Ground;
use crate::living::TRIES;
use crate::modes::nobody_else;
use crate::standing::Standing;
use crate::writer::Writer;

/// Uninstalled and installed again over everything that was left.
pub(crate) async fn reinstalled(ground: &Ground) -> Result<()> {
    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-again").await?;
    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe("prod", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "orphan");
    cluster.create(spec::on_volumes(3)).await?;
    cluster.becomes_healthy(3).await?;
    let standing = Standing::of(&cluster).await?;
    let writer = Writer::start_trying(vec![cluster.client_address().await?], TRIES);

    subscriber.uninstall().await?;
    writer.goes_on(50, Duration::from_secs(60)).await?;
    standing.is_kept(&cluster).await?;

    subscriber
        .subscribe("prod", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    standing.is_kept(&cluster).await?;
    let journal = writer.finish().await?;
    ensure!(
        journal.failed == 0,
        "{} of {} writes failed",
        journal.failed,
        journal.len()
    );
    cluster.resize(1).await?;
    cluster.becomes_healthy(1).await?;
    cluster.delete().await?;
    subscriber.uninstall().await
}

/// Definitions as the archived operator made them, which take everything, and clusters that were stored under them: one that
/// the rules of today would refuse keeps nobody from anything.
pub(crate) async fn archived(ground: &Ground) -> Result<()> {
    nobody_else(ground).await?;
    let group = "etcd.database.coreos.com";
    let ours = [
        "etcdclusters",
        "etcdbackups",
        "etcdrestores",
        "reconcilermodules",
    ];
    let names = ours.map(|plural| format!("{plural}.{group}"));
    let mut delete = vec!["delete", "customresourcedefinition", "--ignore-not-found"];
    delete.extend(names.iter().map(String::as_str));
    ground.kubectl.run(&delete).await?;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": names[0]},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "kind": "EtcdCluster", "listKind": "EtcdClusterList",
                "plural": "etcdclusters", "singular": "etcdcluster", "shortNames": ["etcd"],
            },
            "versions": [{
                "name": "v1beta2", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    });
    ground
        .kubectl
        .run_with_input(&["apply", "--filename", "-"], &definition.to_string())
        .await?;
    let established = ["wait", "--for=condition=Established", "--timeout=60s"];
    let crd = format!("customresourcedefinition/{}", names[0]);
    ground
        .kubectl
        .run(&[&established[..], &[&crd]].concat())
        .await?;

    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-archived").await?;
    let cluster = |name: &str| Cluster::new(ground.testbed.clone(), subscriber.namespace(), name);
    let (good, huge) = (cluster("good"), cluster("huge"));
    let mut wanted = spec::on_volumes(3);
    wanted["unheardOf"] = json!("kept until somebody writes");
    good.create(wanted).await?;
    huge.create(spec::in_pods(9)).await?;

    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe("prod", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    good.becomes_healthy(3).await?;
    let blocked = huge.status().await?;
    eprintln!("of nine members: {:?}", blocked.conditions);
    ensure!(huge.pods().await?.is_empty(), "nine members were begun");
    huge.resize(1).await?;
    huge.becomes_healthy(1).await?;
    for one in [good, huge] {
        one.delete().await?;
    }
    subscriber.uninstall().await
}
