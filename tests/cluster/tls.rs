//! Certificates, in Secrets: who gets in, who does not, what is said when they cannot work.

mod turned;
mod worthless;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use contract::ConditionStatus;
use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};
use tests::scenario::{
    Authority, ClientFiles, Cluster, Issued, Scenario, kubernetes_secret, names_of, old_secret,
    spec,
};
use tests::testbed::wait;

pub(crate) use turned::turned;
pub(crate) use worthless::worthless;

/// How long the kubelet may take to write a changed Secret into a pod, and more.
const SPREAD: Duration = Duration::from_secs(240);
const PATIENCE: Duration = Duration::from_secs(60);
/// How long three members may take to restart one by one, and more.
const ROLL: Duration = Duration::from_secs(300);

/// Whoever made the certificates of one cluster.
struct Maker {
    authority: Authority,
    names: Vec<String>,
    client: Issued,
}

impl Maker {
    fn new(scenario: &Scenario, cluster: &str) -> Result<Self> {
        let authority = Authority::make()?;
        Ok(Self {
            names: names_of(cluster, scenario.namespace()),
            client: authority.issue(&[])?,
            authority,
        })
    }

    /// The three Secrets with the archived operator's keys.
    fn old_secrets(&self, names: &[String]) -> Result<[Value; 3]> {
        let of = |name: &str, prefix: &str| {
            Ok::<_, anyhow::Error>(old_secret(
                name,
                prefix,
                &self.authority.issue(names)?,
                &self.authority,
            ))
        };
        Ok([
            of("etcd-peer-tls", "peer")?,
            of("etcd-server-tls", "server")?,
            of("etcd-client-tls", "etcd-client")?,
        ])
    }

    /// A cluster that asks with this client's certificate.
    async fn create(&self, scenario: &Scenario, name: &str, spec: Value) -> Result<Cluster> {
        let cluster = scenario.create(name, spec).await?;
        Ok(cluster.with_client(ClientFiles::write(scenario.folder(), &self.client)?))
    }

    /// A client that trusts this authority.
    async fn connect(&self, address: &str, name: &str, shown: Option<&Issued>) -> Result<Client> {
        connect(&self.authority.certificate, address, name, shown).await
    }
}

/// A client that verifies a server of `name` at `address`; it shows a certificate only if it has one.
async fn connect(
    trusted: &str,
    address: &str,
    name: &str,
    shown: Option<&Issued>,
) -> Result<Client> {
    let mut tls = TlsOptions::new()
        .ca_certificate(Certificate::from_pem(trusted))
        .domain_name(name);
    if let Some(Issued { certificate, key }) = shown {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    let options = ConnectOptions::new()
        .with_tls(tls)
        .with_connect_timeout(Duration::from_secs(2))
        .with_timeout(Duration::from_secs(3));
    let mut client = Client::connect([address], Some(options)).await?;
    client.status().await.context("no answer")?;
    Ok(client)
}

fn with_old_secrets(mut spec: Value) -> Value {
    spec["TLS"] = json!({"static": {
        "member": {"peerSecret": "etcd-peer-tls", "serverSecret": "etcd-server-tls"},
        "operatorSecret": "etcd-client-tls",
    }});
    spec
}

async fn apply(scenario: &Scenario, secrets: &[Value]) -> Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": secrets});
    scenario
        .kubectl_with_input(&["apply", "--filename", "-"], &list.to_string())
        .await
        .map(drop)
}

/// How often each member's container was restarted, by pod and its UID.
async fn restarts(cluster: &Cluster) -> Result<Vec<(String, String, i32)>> {
    let count = |pod: &Pod| {
        let statuses = pod
            .status
            .iter()
            .flat_map(|status| &status.container_statuses);
        statuses.flatten().map(|one| one.restart_count).sum()
    };
    let pods = cluster.pods().await?;
    Ok(pods
        .iter()
        .map(|pod| (pod.name_any(), pod.uid().unwrap_or_default(), count(pod)))
        .collect())
}

pub(crate) async fn old_layout(scenario: &mut Scenario) -> Result<()> {
    let maker = Maker::new(scenario, "safe")?;
    apply(scenario, &maker.old_secrets(&maker.names)?).await?;
    let spec = with_old_secrets(spec::on_volumes(3));
    let cluster = maker.create(scenario, "safe", spec).await?;
    cluster.becomes_healthy(3).await?;

    let address = cluster.client_address().await?;
    let name = format!("safe-client.{}.svc", scenario.namespace());
    let mut known = maker.connect(&address, &name, Some(&maker.client)).await?;
    known.put("greeting", "hello", None).await?;
    let stranger = maker.connect(&address, &name, None).await;
    ensure!(stranger.is_err(), "a client without a certificate got in");
    let foreign = Authority::make()?.issue(&[])?;
    let foreigner = maker.connect(&address, &name, Some(&foreign)).await;
    ensure!(foreigner.is_err(), "a client of another authority got in");
    let plain = Client::connect([address.replace("https:", "http:")], None).await;
    let answer = match plain {
        Ok(mut client) => client.status().await.map(drop),
        Err(error) => Err(error),
    };
    ensure!(answer.is_err(), "a client in plain text got in");
    let elsewhere = maker
        .connect(&address, "elsewhere.example", Some(&maker.client))
        .await;
    ensure!(elsewhere.is_err(), "the server is verified by no name");

    let ends = "binnacle_certificate_end_timestamp_seconds";
    let end = scenario.operator()?.metric(ends, "server.crt").await?;
    ensure!(
        end > 1e9,
        "the metric says that a certificate ends at {end}"
    );

    let members = cluster.member_names().await?;
    let first = members.first().context("there are no members")?;
    cluster.delete_pod(first).await?;
    cluster.becomes_healthy(3).await?;
    ensure!(
        cluster.member_names().await? == members,
        "members were replaced"
    );
    let read = known.get("greeting", None).await?;
    ensure!(read.kvs().len() == 1, "the write is gone");
    Ok(())
}

pub(crate) async fn kubernetes_layout(scenario: &mut Scenario) -> Result<()> {
    let maker = Maker::new(scenario, "modern")?;
    let host = format!("modern.{}.svc", scenario.namespace());
    let client = format!("modern-client.{}.svc", scenario.namespace());
    let issued = maker
        .authority
        .issue(&[format!("*.{host}"), host, client])?;
    // One Secret in all three roles, as one Certificate of cert-manager gives it.
    apply(
        scenario,
        &[kubernetes_secret("modern-tls", &issued, &maker.authority)],
    )
    .await?;
    let mut spec = spec::on_volumes(1);
    spec["TLS"] = json!({"static": {
        "member": {"peerSecret": "modern-tls", "serverSecret": "modern-tls"}, "operatorSecret": "modern-tls",
    }});
    let cluster = maker.create(scenario, "modern", spec).await?;
    cluster.becomes_healthy(1).await?;
    cluster.etcd().await?.put("kept", "yes").await?;
    cluster.resize(3).await?;
    cluster.becomes_healthy(3).await?;
    ensure!(
        cluster.etcd().await?.get("kept").await? == "yes",
        "data is lost"
    );
    let address = cluster.client_address().await?;
    let name = format!("modern-client.{}.svc", scenario.namespace());
    maker.connect(&address, &name, Some(&maker.client)).await?;
    ensure!(
        maker.connect(&address, &name, None).await.is_err(),
        "a client without a certificate got in"
    );
    Ok(())
}

pub(crate) async fn missing(scenario: &mut Scenario) -> Result<()> {
    let maker = Maker::new(scenario, "early")?;
    let spec = with_old_secrets(spec::in_pods(1));
    let cluster = maker.create(scenario, "early", spec).await?;
    let missing = ["Secret etcd-peer-tls", "peer.crt, peer.key, peer-ca.crt"];
    cluster.becomes_blocked("SecretMissing", &missing).await?;
    cluster
        .awaits_event("Warning", "SecretMissing", "etcd-peer-tls")
        .await?;
    let secrets = maker.old_secrets(&maker.names)?;
    let mut cut = secrets.clone();
    if let Some(keys) = cut[0]["stringData"].as_object_mut() {
        keys.remove("peer.key");
    }
    apply(scenario, &cut).await?;
    let incomplete = ["Secret etcd-peer-tls", "no key peer.key"];
    cluster
        .becomes_blocked("SecretIncomplete", &incomplete)
        .await?;
    ensure!(cluster.pods().await?.is_empty(), "members were started");
    apply(scenario, &secrets).await?;
    cluster.becomes_healthy(1).await
}

pub(crate) async fn renewed(scenario: &mut Scenario) -> Result<()> {
    let maker = Maker::new(scenario, "fresh")?;
    apply(scenario, &maker.old_secrets(&maker.names)?).await?;
    let spec = with_old_secrets(spec::on_volumes(3));
    let cluster = maker.create(scenario, "fresh", spec).await?;
    cluster.becomes_healthy(3).await?;
    let before = restarts(&cluster).await?;

    let mut names = maker.names.clone();
    names.push("renewed.example".to_owned());
    apply(scenario, &maker.old_secrets(&names)?).await?;
    for (pod, _, _) in &before {
        let address = scenario
            .testbed()
            .pod_address(scenario.namespace(), pod)
            .await?;
        let address = format!("https://{address}:2379");
        wait::until(
            format!("{pod} with its new certificate"),
            SPREAD,
            async || {
                maker
                    .connect(&address, "renewed.example", Some(&maker.client))
                    .await
                    .map(drop)
            },
        )
        .await?;
    }
    cluster.becomes_healthy(3).await?;
    let after = restarts(&cluster).await?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}

/// Reads a Secret's key as text.
async fn read(scenario: &Scenario, secret: &str, key: &str) -> Result<String> {
    let path = format!("--output=go-template={{{{index .data \"{key}\" | base64decode}}}}");
    scenario.kubectl(&["get", "secret", secret, &path]).await
}

/// The client's side of what the operator made, and whom it trusts.
async fn made(scenario: &Scenario, cluster: &str) -> Result<(Issued, String)> {
    let secret = format!("{cluster}-client-tls");
    let issued = Issued {
        certificate: read(scenario, &secret, "tls.crt").await?,
        key: read(scenario, &secret, "tls.key").await?,
    };
    Ok((issued, read(scenario, &secret, "ca.crt").await?))
}

pub(crate) async fn auto(scenario: &mut Scenario) -> Result<()> {
    let mut spec = spec::on_volumes(3);
    spec["TLS"] = json!({"auto": {}});
    let cluster = scenario.create("own", spec).await?;
    let first = wait::until("the operator's certificates", PATIENCE, async || {
        made(scenario, "own").await
    });
    let (client, trusted) = first.await?;
    let cluster = cluster.with_client(ClientFiles::write(scenario.folder(), &client)?);
    cluster.becomes_healthy(3).await?;

    let address = cluster.client_address().await?;
    let name = format!("own-client.{}.svc", scenario.namespace());
    let mut known = connect(&trusted, &address, &name, Some(&client)).await?;
    known.put("greeting", "hello", None).await?;
    let stranger = connect(&trusted, &address, &name, None).await;
    ensure!(stranger.is_err(), "a client without a certificate got in");

    let before = restarts(&cluster).await?;
    scenario
        .kubectl(&["delete", "secret", "own-server-tls"])
        .await?;
    let again = wait::until("another server certificate", PATIENCE, async || {
        read(scenario, "own-server-tls", "tls.crt").await.map(drop)
    });
    again.await?;
    cluster.becomes_healthy(3).await?;
    ensure!(before == restarts(&cluster).await?, "members restarted");

    let another = json!({"TLS": {"auto": {"generation": 2}}});
    cluster.edit(another).await?;
    let after = wait::until("another authority, known to all", ROLL, async || {
        cluster.is_healthy(3).await?;
        let now = restarts(&cluster).await?;
        let same = now.iter().filter(|one| before.contains(one)).count();
        ensure!(same == 0, "{same} members were not restarted");
        let (now, both) = made(scenario, "own").await?;
        let count = both.matches("BEGIN").count();
        ensure!(count == 2, "{count} authorities are trusted");
        ensure!(
            now.certificate != client.certificate,
            "the client's is the old one"
        );
        connect(&both, &address, &name, Some(&now)).await
    });
    let read = after.await?.get("greeting", None).await?;
    ensure!(read.kvs().len() == 1, "the write is gone");
    let names = cluster.member_names().await?;
    let were: Vec<_> = before.into_iter().map(|(name, _, _)| name).collect();
    ensure!(names == were, "{were:?} became {names:?}");
    Ok(())
}

pub(crate) async fn wrong_authority(scenario: &mut Scenario) -> Result<()> {
    let maker = Maker::new(scenario, "odd")?;
    let good = maker.old_secrets(&maker.names)?;
    let stranger = Maker::new(scenario, "odd")?;
    let wrong = old_secret(
        "etcd-server-tls",
        "server",
        &stranger.authority.issue(&maker.names)?,
        &maker.authority,
    );
    let words = ["Secret etcd-server-tls", "server.crt", "another authority"];

    apply(scenario, &[good[0].clone(), wrong.clone(), good[2].clone()]).await?;
    let spec = with_old_secrets(spec::on_volumes(1));
    let cluster = maker.create(scenario, "odd", spec).await?;
    cluster
        .becomes_blocked("CertificateInvalid", &words)
        .await?;
    ensure!(cluster.pods().await?.is_empty(), "a member was started");
    apply(scenario, &good[1..2]).await?;
    cluster.becomes_healthy(1).await?;

    let before = restarts(&cluster).await?;
    apply(scenario, &[wrong]).await?;
    cluster
        .becomes_blocked("CertificateInvalid", &words)
        .await?;
    apply(scenario, &good[1..2]).await?;
    let nothing = "Nothing waits for a person";
    let (off, reason) = (ConditionStatus::False, "AsSpecified");
    cluster
        .awaits_condition("Blocked", off, reason, &[nothing], PATIENCE)
        .await?;
    cluster.becomes_healthy(1).await?;
    let after = restarts(&cluster).await?;
    ensure!(before == after, "{before:?} became {after:?}");
    Ok(())
}
