//! Certificates that cannot work come to a cluster that lives: named with Secret, key and reason, while all that worked goes on.

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use tests::scenario::{Issued, Scenario, old_secret, spec};
use tests::testbed::wait;

use super::{Maker, SPREAD, apply, restarts, with_old_secrets};

/// Expired, not valid yet, and with the key of another one. The first stays until the members serve it.
pub(crate) async fn worthless(scenario: &mut Scenario) -> Result<()> {
    let maker = Maker::new(scenario, "worn")?;
    let good = maker.old_secrets(&maker.names)?;
    apply(scenario, &good).await?;
    let spec = with_old_secrets(spec::on_volumes(3));
    let cluster = maker.create(scenario, "worn", spec).await?;
    cluster.becomes_healthy(3).await?;
    let before = restarts(&cluster).await?;
    let address = cluster.client_address().await?;
    let name = format!("worn-client.{}.svc", scenario.namespace());
    let mut client = maker.connect(&address, &name, Some(&maker.client)).await?;

    let authority = &maker.authority;
    let mismatched = Issued {
        key: authority.issue(&maker.names)?.key,
        ..authority.issue(&maker.names)?
    };
    let kinds = [
        (
            authority.issue_within(&maker.names, 2020..2021)?,
            "CertificateExpired",
            ["server.crt", "expired at 2021-01-01"],
        ),
        (
            authority.issue_within(&maker.names, 2190..2191)?,
            "CertificateInvalid",
            ["server.crt", "not valid before 2190-01-01"],
        ),
        (
            mismatched,
            "CertificateInvalid",
            ["server.key", "not the key of the certificate"],
        ),
    ];
    for (number, (bad, reason, [key, words])) in kinds.iter().enumerate() {
        let bad = old_secret("etcd-server-tls", "server", bad, authority);
        apply(scenario, &[bad]).await?;
        let words = ["Secret etcd-server-tls", *key, *words];
        cluster.becomes_blocked(reason, &words).await?;
        cluster.awaits_event("Warning", reason, key).await?;
        if number == 0 {
            wait::until("nobody new gets in", SPREAD, async || {
                let another = maker.connect(&address, &name, Some(&maker.client)).await;
                ensure!(another.is_err(), "one who verifies got in");
                Ok(())
            })
            .await?;
        }
        let value = number.to_string();
        let written = client.put("kept", value.as_str(), None).await;
        written.context("who was connected cannot write any more")?;
        let now = restarts(&cluster).await?;
        ensure!(before == now, "{before:?} became {now:?}");
        apply(scenario, &good[1..2]).await?;
        let (off, nothing) = (ConditionStatus::False, ["Nothing waits for a person"]);
        cluster
            .awaits_condition("Blocked", off, "AsSpecified", &nothing, SPREAD)
            .await?;
    }

    let again = wait::until("the good certificate is served", SPREAD, async || {
        cluster.is_healthy(3).await?;
        maker.connect(&address, &name, Some(&maker.client)).await
    });
    let read = again.await?.get("kept", None).await?;
    let kept = read.kvs().first().map(etcd_client::KeyValue::value);
    ensure!(
        kept == Some(b"2".as_slice()),
        "what was written is {kept:?}"
    );
    let after = restarts(&cluster).await?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}
