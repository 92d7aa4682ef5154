//! Running operators, as a person reaches them through the API server, and what they recorded last.
//!
//! For the verbs of people; an operator itself uses nothing of it.

mod connection;
mod latest;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use k8s_openapi::api::core::v1 as core;
use kube::api::ListParams;
use kube::{Api, Client};

pub(crate) use connection::Connection;
pub(crate) use latest::{Latest, latest};

use crate::run::kube_config;

/// What the manifests give the operator's pods.
const SELECTOR: &str = "app.kubernetes.io/name=binnacle";
/// Where the operator answers unless its pod says another port.
const PORT: u16 = 8080;
/// Name of that port.
const PORT_NAME: &str = "http";

/// Which Kubernetes is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Reach {
    /// Kubeconfig file. Without it: $KUBECONFIG, ~/.kube/config, or the pod's service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it, its current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Reach {
    /// A client, and the namespace that is meant: the one named, else that of the kubeconfig.
    pub(crate) async fn client(
        self,
        namespace: Option<String>,
    ) -> anyhow::Result<(Client, String)> {
        let config = kube_config(self.kubeconfig, self.context).await?;
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).context("the Kubernetes client cannot be made")?;
        Ok((client, namespace))
    }
}

/// A pod of an operator that runs.
pub(crate) struct Operator {
    pods: Api<core::Pod>,
    name: String,
    port: u16,
}

impl Operator {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<Connection> {
        Connection::open(&self.pods, &self.name, self.port).await
    }
}

/// What the API server says, without the form it has in answers.
pub(crate) fn in_words(error: kube::Error) -> anyhow::Error {
    if let kube::Error::Api(status) = &error {
        return anyhow!("{}", status.message);
    }
    error.into()
}

/// The operator's pods that run, at least one.
pub(crate) async fn running(
    client: &Client,
    namespace: &str,
    only: Option<&str>,
) -> anyhow::Result<Vec<Operator>> {
    let pods: Api<core::Pod> = Api::namespaced(client.clone(), namespace);
    let found = pods
        .list(&ListParams::default().labels(SELECTOR))
        .await
        .map_err(in_words)
        .with_context(|| format!("the pods of the namespace {namespace} cannot be listed"))?;
    let is_running = |pod: &core::Pod| {
        let status = pod.status.as_ref();
        status.and_then(|status| status.phase.as_deref()) == Some("Running")
    };
    let running = found.items.iter().filter(|pod| is_running(pod));
    let operators: Vec<Operator> = running
        .filter_map(|pod| {
            Some(Operator {
                pods: pods.clone(),
                name: pod.metadata.name.clone()?,
                port: port(pod),
            })
        })
        .filter(|operator| only.is_none_or(|only| only == operator.name))
        .collect();
    if operators.is_empty() {
        let whose = only.map_or_else(
            || format!("no pod with the label {SELECTOR}"),
            |only| format!("no pod {only} of the operator"),
        );
        bail!("{whose} runs in the namespace {namespace}: name the operator's namespace");
    }
    Ok(operators)
}

fn port(pod: &core::Pod) -> u16 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports
        .find(|port| port.name.as_deref() == Some(PORT_NAME))
        .and_then(|port| u16::try_from(port.container_port).ok())
        .unwrap_or(PORT)
}
