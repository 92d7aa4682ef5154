//! What stays when the operator goes, and the next one that finds it.

use std::time::Duration;

use anyhow::{Result, ensure};
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};

use crate::Ground;
use crate::edges::TRIES;
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
