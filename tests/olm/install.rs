//! From a Subscription to a healthy cluster.

use std::time::Instant;

use anyhow::{Result, ensure};
use tests::olm::{Approval, CPU, Subscriber};
use tests::scenario::{Cluster, spec};

use crate::Ground;

/// The head of `testing`, approved by OLM itself, in its own namespace.
pub(crate) async fn testing(ground: &Ground) -> Result<()> {
    let started = Instant::now();
    let subscriber = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-testing").await?;
    subscriber.group(&[subscriber.namespace()]).await?;
    subscriber
        .subscribe("testing", Approval::Automatic, None)
        .await?;
    subscriber.succeeds("0.4.0").await?;
    let installed = started.elapsed();
    let cluster = Cluster::new(ground.testbed.clone(), subscriber.namespace(), "first");
    cluster.create(spec::on_volumes(3)).await?;
    cluster.becomes_healthy(3).await?;
    eprintln!(
        "olm_subscription_to_cr_healthy_s {:.1}, of which OLM {:.1}",
        started.elapsed().as_secs_f32(),
        installed.as_secs_f32()
    );

    let wanted = &ground.publication.release("0.4.0")?.release.image;
    let deployment = subscriber.deployment().await?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    ensure!(
        container["image"] == wanted.as_str(),
        "it runs {}",
        container["image"]
    );
    let asked = &container["resources"]["requests"]["cpu"];
    ensure!(
        asked == CPU,
        "the Subscription asks for {CPU} and the pod has {asked}"
    );
    cluster.delete().await?;
    subscriber.uninstall().await
}
