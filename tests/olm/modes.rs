//! The install modes beyond the own namespace: which clusters are looked after, and which are not.

use std::time::Duration;

use anyhow::{Result, ensure};
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};
use tests::testbed::wait;

use crate::Ground;

/// One other namespace, then two, then all, by changes of one OperatorGroup.
pub(crate) async fn all(ground: &Ground) -> Result<()> {
    nobody_else(ground).await?;
    let home = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-home").await?;
    let (first, second, third) = (
        ground.testbed.namespace("olm-first").await?,
        ground.testbed.namespace("olm-second").await?,
        ground.testbed.namespace("olm-third").await?,
    );
    let cluster = |namespace: &str| Cluster::new(ground.testbed.clone(), namespace, "served");
    let clusters = [first.name(), second.name(), third.name()].map(cluster);

    home.group(&[first.name()]).await?;
    home.subscribe("prod", Approval::Automatic, None).await?;
    home.succeeds("0.4.0").await?;
    home.serves(&[first.name()]).await?;
    for cluster in &clusters {
        cluster.create(spec::in_pods(1)).await?;
    }
    clusters[0].becomes_healthy(1).await?;
    is_ignored(&clusters[1]).await?;
    is_ignored(&clusters[2]).await?;

    home.group(&[first.name(), second.name()]).await?;
    home.serves(&[first.name(), second.name()]).await?;
    clusters[1].becomes_healthy(1).await?;
    is_ignored(&clusters[2]).await?;

    // Applied over the list of before: a group without targets means all namespaces.
    home.group(&[]).await?;
    home.serves(&[]).await?;
    clusters[2].becomes_healthy(1).await?;
    for cluster in &clusters {
        cluster.delete().await?;
    }
    home.uninstall().await
}

/// An operator that serves all namespaces would meet those of other scenarios, which OLM refuses.
async fn nobody_else(ground: &Ground) -> Result<()> {
    wait::until(
        "the end of all other operators",
        Duration::from_secs(120),
        async || {
            let left = ground
                .kubectl
                .run(&[
                    "get",
                    "operatorgroups,clusterserviceversions",
                    "--all-namespaces",
                    "--output=name",
                ])
                .await?;
            ensure!(left.is_empty(), "there is still {left}");
            Ok(())
        },
    )
    .await
}

/// Nobody has written its status or made anything for it.
async fn is_ignored(cluster: &Cluster) -> Result<()> {
    let resource = cluster.resource().await?;
    ensure!(
        resource.data.get("status").is_none(),
        "{} has a status",
        cluster.namespace()
    );
    ensure!(
        cluster.pods().await?.is_empty(),
        "{} has pods",
        cluster.namespace()
    );
    Ok(())
}
