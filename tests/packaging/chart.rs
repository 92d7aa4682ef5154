//! The Helm chart before Helm itself: it has nothing to say against it, and what it renders is what the plain manifests have.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use manifests::{Installation, Placed, cluster_wide_objects, objects};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{root, run};

const HELM: &str = "helm-3.19.0";
const NAMESPACE: &str = "etcd";

async fn helm(arguments: &[&str]) -> Result<String> {
    // Without a cluster Helm thinks of the Kubernetes that it was made with.
    let kubernetes = ["--kube-version", "1.36.3"];
    run(HELM, "helm", &[arguments, &kubernetes].concat()).await
}

/// What a release with these values consists of.
async fn rendered(values: &[&str]) -> Result<Vec<Value>> {
    let chart = root().join("chart").display().to_string();
    let template = ["template", "binnacle", &chart, "--namespace", NAMESPACE];
    let text = helm(&[&template[..], values].concat()).await?;
    let documents = serde_yaml::Deserializer::from_str(&text).map(Value::deserialize);
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    Ok(documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

/// Objects by kind, namespace and name, without what is empty and what is Helm's own.
fn by_name(objects: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let named = |mut object: Value| {
        let metadata = &mut object["metadata"];
        let name = format!("{}/{}", metadata["namespace"], metadata["name"]);
        if let Some(annotations) = metadata["annotations"].as_object_mut() {
            annotations.remove("helm.sh/resource-policy");
        }
        (format!("{} {name}", object["kind"]), without_empty(object))
    };
    objects.into_iter().map(named).collect()
}

fn without_empty(value: Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, without_empty(field)))
            .filter(|(_, field)| !is_empty(field))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

fn plain(placed: Vec<Placed>) -> BTreeMap<String, Value> {
    by_name(placed.into_iter().map(|placed| placed.object))
}

fn installation() -> Installation {
    Installation {
        namespace: NAMESPACE.to_owned(),
        image: "registry.example/binnacle:1".to_owned(),
    }
}

fn same(ours: &BTreeMap<String, Value>, theirs: &BTreeMap<String, Value>) -> Result<()> {
    ensure!(
        ours.keys().eq(theirs.keys()),
        "there are {:?} and {:?}",
        ours.keys(),
        theirs.keys()
    );
    for (name, one) in ours {
        let other = &theirs[name];
        ensure!(one == other, "{name} is {one:#} and {other:#}");
    }
    Ok(())
}

#[tokio::test]
async fn helm_has_nothing_to_say_against_the_chart() -> Result<()> {
    let chart = root().join("chart").display().to_string();
    let said = helm(&["lint", "--strict", &chart]).await?;
    let is_silent = !["[INFO]", "[WARNING]", "[ERROR]"]
        .iter()
        .any(|mark| said.contains(mark));
    ensure!(is_silent, "{said}");
    Ok(())
}

#[tokio::test]
async fn for_all_namespaces_it_renders_the_plain_manifests() -> Result<()> {
    let values = [
        "--set",
        "allNamespaces=true,image=registry.example/binnacle:1",
    ];
    let ours = by_name(rendered(&values).await?);
    same(&ours, &plain(cluster_wide_objects(&installation())?))
}

/// The rights are in two Roles there and in one here; the namespace is told by its name there and by the pod's field here.
#[tokio::test]
async fn for_its_own_namespace_it_renders_the_plain_manifests() -> Result<()> {
    let mut ours = by_name(rendered(&["--set", "image=registry.example/binnacle:1"]).await?);
    let mut theirs = plain(objects(&installation())?);
    let name = |kind: &str, name: &str| format!("\"{kind}\" \"{NAMESPACE}\"/\"{name}\"");
    let mut rules = Vec::new();
    for role in ["binnacle-clusters", "binnacle"] {
        let role = ours.remove(&name("Role", role)).context("no Role")?;
        rules.extend(role["rules"].as_array().cloned().unwrap_or_default());
    }
    ours.remove(&name("RoleBinding", "binnacle-clusters"))
        .context("no binding")?;
    let plain = theirs
        .remove(&name("Role", "binnacle"))
        .context("no Role")?;
    ensure!(plain["rules"] == json!(rules), "{plain:#} and {rules:#?}");
    for deployment in [&mut ours, &mut theirs] {
        let deployment = deployment
            .get_mut(&name("Deployment", "binnacle"))
            .context("no Deployment")?;
        let env = &mut deployment["spec"]["template"]["spec"]["containers"][0]["env"];
        let env = env.as_array_mut().context("no variables")?;
        let served = env.iter_mut().find(|one| one["name"] == "WATCH_NAMESPACE");
        let served = served.context("it is not told what to look after")?;
        if served.get("value").is_some() {
            ensure!(served["value"] == NAMESPACE, "it looks after {served}");
        }
        *served = json!({});
    }
    same(&ours, &theirs)
}

#[tokio::test]
async fn claims_for_backups_are_mounted_where_the_operator_looks_for_them() -> Result<()> {
    let objects = rendered(&["--set", "claims={backups,more.backups}"]).await?;
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let pod = &deployment.context("no Deployment")?["spec"]["template"]["spec"];
    let of = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let (mounts, volumes) = (
        of(&pod["containers"][0]["volumeMounts"]),
        of(&pod["volumes"]),
    );
    for (number, claim) in ["backups", "more.backups"].iter().enumerate() {
        let name = format!("claim-{number}");
        let path = format!("/var/lib/binnacle-claims/{NAMESPACE}/{claim}");
        let mount = json!({"name": name, "mountPath": path});
        ensure!(mounts.contains(&mount), "{mount} is not in {mounts:?}");
        let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": claim}});
        ensure!(volumes.contains(&volume), "{volume} is not in {volumes:?}");
    }
    ensure!(pod["securityContext"]["fsGroup"] == 65532, "{pod:#}");
    Ok(())
}

#[tokio::test]
async fn several_namespaces_have_the_rights_each_and_are_told_to_the_pod() -> Result<()> {
    let values = [
        "--set",
        "namespaces={team-a,team-b},crds.install=false,env[0].name=BINNACLE_LOG,env[0].value=debug",
    ];
    let objects = rendered(&values).await?;
    let of = |kind: &str| {
        let found = objects.iter().filter(|object| object["kind"] == kind);
        let mut namespaces: Vec<_> = found
            .map(|object| object["metadata"]["namespace"].as_str().unwrap_or_default())
            .collect();
        namespaces.sort_unstable();
        namespaces
    };
    ensure!(of("CustomResourceDefinition").is_empty());
    ensure!(of("ClusterRole").is_empty());
    for kind in ["Role", "RoleBinding"] {
        ensure!(
            of(kind) == [NAMESPACE, "team-a", "team-b"],
            "{kind} in {:?}",
            of(kind)
        );
    }
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let env =
        &deployment.context("no Deployment")?["spec"]["template"]["spec"]["containers"][0]["env"];
    for wanted in [
        json!({"name": "WATCH_NAMESPACE", "value": "team-a,team-b"}),
        json!({"name": "BINNACLE_LOG", "value": "debug"}),
    ] {
        let is_there = env.as_array().is_some_and(|all| all.contains(&wanted));
        ensure!(is_there, "{wanted} is not in {env}");
    }
    Ok(())
}

/// What Kubernetes takes inside of a value, the chart takes and hands on as it is.
#[tokio::test]
async fn whatever_kubernetes_takes_gets_to_the_pod() -> Result<()> {
    let values = json!({
        "resources": {"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"memory": "1.5e9"}},
        "env": [
            {"name": "BINNACLE_LOG", "value": "debug"},
            {"name": "HTTPS_PROXY", "valueFrom": {"secretKeyRef": {"name": "proxy", "key": "url"}}},
        ],
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
            ]}],
        }}},
        "imagePullSecrets": [{"name": "registry"}],
    });
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("values.json");
    fs::write(&file, values.to_string())?;
    let objects = rendered(&["--values", &file.display().to_string()]).await?;
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let pod = &deployment.context("no Deployment")?["spec"]["template"]["spec"];
    for name in [
        "nodeSelector",
        "tolerations",
        "affinity",
        "imagePullSecrets",
    ] {
        ensure!(pod[name] == values[name], "{name} is {}", pod[name]);
    }
    let container = &pod["containers"][0];
    ensure!(container["resources"] == values["resources"], "{container}");
    let has = container["env"].as_array().context("no variables")?;
    for wanted in values["env"].as_array().context("no variables")? {
        ensure!(has.contains(wanted), "{wanted} is not in {has:?}");
    }
    Ok(())
}

#[tokio::test]
async fn values_that_cannot_be_meant_are_refused_in_words() -> Result<()> {
    for (values, words) in [
        ("imag=registry.example/binnacle:1", "imag"),
        ("image=two words", "image"),
        ("namespaces={Not_A_Namespace}", "namespaces"),
        ("crds.instal=false", "instal"),
        ("replicas=3", "replicas"),
        ("tolerations[0].kee=stage", "kee"),
        (
            "tolerations[0].operator=Sometimes",
            "/tolerations/0/operator",
        ),
        (
            "tolerations[0].tolerationSeconds=soon",
            "/tolerations/0/tolerationSeconds",
        ),
        ("affinity.nodeAffinty.required=x", "nodeAffinty"),
        ("affinity=anywhere", "/affinity"),
        ("resources.request.cpu=1", "request"),
        ("resources.limits.cpu=banana", "/resources/limits/cpu"),
        ("env[0].value=debug", "/env/0"),
        ("env[0].name=A=B", "/env/0/name"),
        ("env[0].name=BINNACLE_LOG,env[0].valu=debug", "valu"),
        (
            "env[0].name=WATCH_NAMESPACE,env[0].value=all",
            "env sets WATCH_NAMESPACE, which the chart sets itself. Take it out of env: namespaces and allNamespaces say",
        ),
        ("imagePullSecrets[0]=registry", "/imagePullSecrets/0"),
        (
            "allNamespaces=true,namespaces={team-a}",
            "allNamespaces and namespaces exclude one another. Set allNamespaces to false",
        ),
    ] {
        let refused = rendered(&["--set", values]).await;
        let said = format!(
            "{:#}",
            refused
                .err()
                .with_context(|| format!("{values} is taken"))?
        );
        ensure!(said.contains(words), "{values}: {said}");
    }
    let chart = root().join("chart").display().to_string();
    let old = ["template", "binnacle", &chart, "--kube-version", "1.29.0"];
    let refused = run(HELM, "helm", &old).await;
    let said = format!("{:#}", refused.err().context("Kubernetes 1.29 is taken")?);
    ensure!(said.contains("requires kubeVersion: >=1.30.0-0"), "{said}");
    Ok(())
}
