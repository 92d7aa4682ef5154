//! What people, old objects and other controllers get wrong: refused in clear words, nothing lost, nobody else harmed.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use contract::ConditionStatus;
use kube::ResourceExt;
use serde_json::{Value, json};
use tests::scenario::{Children, Cluster, Scenario, spec};
use tests::testbed::wait;

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn sizes(scenario: &mut Scenario) -> Result<()> {
    let kept = scenario.create("kept", spec::in_pods(1)).await?;
    let none = scenario.create("none", spec::in_pods(0)).await?;
    none.becomes_blocked("InvalidSpec", &["spec.size 0", "1, 3, 5 or 7"])
        .await?;
    none.awaits_event("Warning", "InvalidSpec", "spec.size 0")
        .await?;
    ensure!(
        Children::of(&none).await?.pods.is_empty(),
        "members were started"
    );

    kept.becomes_healthy(1).await?;
    let uids = Children::of(&kept).await?.uids();
    for size in [-1, 8, 1000] {
        is_refused(
            &scenario.cluster("other"),
            spec::in_pods(size),
            &["size is the number of members, 1 to 7"],
        )
        .await?;
        let refused = kept.resize(size).await;
        ensure!(
            refused.is_err_and(|error| error.to_string().contains("1 to 7")),
            "{size} was taken"
        );
    }
    kept.resize(0).await?;
    kept.becomes_blocked(
        "InvalidSpec",
        &[
            "spec.size 0",
            "Members that exist are kept",
            "would be gone",
        ],
    )
    .await?;
    ensure!(
        Children::of(&kept).await?.uids() == uids,
        "members were lost"
    );
    kept.etcd().await?.put("still", "served").await?;
    kept.resize(1).await?;
    kept.becomes_unblocked().await?;
    kept.is_healthy(1).await
}

pub(crate) async fn versions(scenario: &mut Scenario) -> Result<()> {
    let with = |version: Value| json!({"size": 1, "version": version});
    is_refused(
        &scenario.cluster("fruit"),
        with(json!("banana")),
        &["version must be MAJOR.MINOR.PATCH such as 3.6.16"],
    )
    .await?;
    let v = scenario.create("with-v", with(json!("v3.6.16"))).await?;
    let empty = scenario.create("empty", with(json!(""))).await?;
    let old = scenario.create("old", with(json!("3.3.27"))).await?;
    old.becomes_blocked("UnsupportedVersion", &["3.3.27", "3.4", "3.6.16"])
        .await?;
    ensure!(
        Children::of(&old).await?.is_empty(),
        "something was made for it"
    );
    for cluster in [&v, &empty] {
        cluster.becomes_healthy(1).await?;
        let version = cluster.status().await?.current_version;
        ensure!(version == "3.6.16", "{} runs {version}", cluster.name());
    }
    Ok(())
}

pub(crate) async fn repositories_and_labels(scenario: &mut Scenario) -> Result<()> {
    let other = scenario.cluster("other");
    let digest = format!("quay.io/coreos/etcd@sha256:{}", "0".repeat(64));
    is_refused(
        &other,
        json!({"size": 1, "repository": digest}),
        &["repository must have no digest"],
    )
    .await?;
    is_refused(
        &other,
        json!({"size": 1, "repository": "localhost:5000/etcd:v3.6.16"}),
        &["repository must have no tag"],
    )
    .await?;
    for key in ["app", "etcd_cluster"] {
        let labelled = json!({"size": 1, "pod": {"labels": {key: "mine"}}});
        is_refused(
            &other,
            labelled,
            &["labels that begin with etcd_ are the operator's"],
        )
        .await?;
    }
    let with_port = json!({"size": 1, "repository": "localhost:5000/etcd", "pod": {"labels": {"team": "blue"}}});
    let ported = scenario.create("ported", with_port).await?;
    let pod = wait::until("its first pod", PATIENCE, async || {
        ported.pods().await?.pop().context("there is no pod")
    })
    .await?;
    ensure!(
        pod.labels().get("team").is_some_and(|team| team == "blue"),
        "labels are {:?}",
        pod.labels()
    );
    let image = pod
        .spec
        .and_then(|spec| spec.containers.into_iter().next()?.image);
    ensure!(
        image.as_deref() == Some("localhost:5000/etcd:v3.6.16"),
        "the image is {image:?}"
    );
    // What only the API server knows not to be valid.
    let odd = json!({"size": 1, "pod": {"labels": {"bad key!": "blue"}}});
    let odd = scenario.create("odd", odd).await?;
    odd.becomes_blocked("ActionFailed", &["is invalid", "bad key!"])
        .await?;
    odd.awaits_event("Warning", "ActionFailed", "bad key!")
        .await?;
    odd.edit(json!({"pod": null})).await?;
    odd.becomes_healthy(1).await
}

pub(crate) async fn names(scenario: &mut Scenario) -> Result<()> {
    let longest = "n".repeat(52);
    is_refused(
        &scenario.cluster(&format!("{longest}n")),
        spec::in_pods(1),
        &["metadata.name may have 52 characters"],
    )
    .await?;
    is_refused(
        &scenario.cluster("with.dot"),
        spec::in_pods(1),
        &["Choose a name without dots"],
    )
    .await?;
    scenario
        .create_healthy(&longest, spec::in_pods(1))
        .await
        .map(drop)
}

pub(crate) async fn unknown_fields(scenario: &mut Scenario) -> Result<()> {
    let object = json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": {"name": "mistyped"},
        "spec": {"size": 1, "sice": 3, "pod": {"lables": {}}},
    })
    .to_string();
    let strict = scenario
        .kubectl_with_input(&["create", "--filename", "-"], &object)
        .await;
    let Err(complaint) = strict else {
        bail!("kubectl took unknown fields without a word")
    };
    for field in ["spec.sice", "spec.pod.lables"] {
        ensure!(
            complaint.to_string().contains(field),
            "{field} is not named: {complaint}"
        );
    }
    scenario
        .kubectl_with_input(&["create", "--validate=ignore", "--filename", "-"], &object)
        .await?;
    scenario.cluster("mistyped").becomes_healthy(1).await
}

pub(crate) async fn foreign_objects(scenario: &mut Scenario) -> Result<()> {
    let service = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
               "spec": {"ports": [{"port": 80}], "selector": {"app": "shop"}}})
    };
    let theirs = json!({"apiVersion": "v1", "kind": "List", "items": [
        service("peers"),
        service("clients-client"),
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "budget"},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}},
    ]});
    scenario
        .kubectl_with_input(&["create", "--filename", "-"], &theirs.to_string())
        .await?;
    let foreign = [
        "service/peers",
        "service/clients-client",
        "poddisruptionbudget/budget",
    ];
    let before = as_made(scenario, &foreign).await?;
    let peers = scenario.create("peers", spec::in_pods(1)).await?;
    let clients = scenario.create("clients", spec::in_pods(1)).await?;
    let budget = scenario.create("budget", spec::in_pods(1)).await?;
    peers
        .becomes_blocked("ForeignObject", &["Service peers", "nobody", "left alone"])
        .await?;
    clients
        .becomes_blocked("ForeignObject", &["Service clients-client", "left alone"])
        .await?;
    budget
        .becomes_blocked(
            "ForeignObject",
            &["PodDisruptionBudget budget", "left alone"],
        )
        .await?;
    peers
        .awaits_event("Warning", "ForeignObject", "Service peers")
        .await?;
    for cluster in [&clients, &budget] {
        cluster.becomes_available().await?;
    }
    ensure!(
        Children::of(&peers).await?.pods.is_empty(),
        "members were started that cannot find one another"
    );
    ensure!(
        as_made(scenario, &foreign).await? == before,
        "an object of somebody else was touched"
    );

    scenario
        .kubectl(&[&["delete"], &foreign[..]].concat())
        .await?;
    for cluster in [&peers, &clients, &budget] {
        cluster.becomes_healthy(1).await?;
        cluster.becomes_unblocked().await?;
    }
    Ok(())
}

pub(crate) async fn missing_right(scenario: &mut Scenario) -> Result<()> {
    let role = scenario
        .kubectl(&["get", "role", "binnacle", "--output=json"])
        .await?;
    let whole: Value = serde_json::from_str(&role)?;
    // Neither seen nor made: the operator starts without any right on budgets.
    scenario.stop_operator().await?;
    grant_on_budgets(scenario, &whole, &[]).await?;
    scenario.start_operator().await?;
    let cluster = scenario.create("restricted", spec::on_volumes(1)).await?;
    cluster.becomes_available().await?;
    let words = ["PodDisruptionBudgets could not be listed", "forbidden"];
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "KubernetesUnreadable",
            &words,
            PATIENCE,
        )
        .await?;
    let answer = scenario.operator()?.readiness().await?;
    ensure!(
        answer.contains(" 500 ") && answer.contains("missing: poddisruptionbudgets"),
        "/readyz answers {answer}"
    );

    // Seen, and still not made.
    grant_on_budgets(scenario, &whole, &["get", "list", "watch"]).await?;
    let words = ["PodDisruptionBudget", "forbidden", "tried again"];
    cluster
        .awaits_condition(
            "Blocked",
            ConditionStatus::True,
            "ActionFailed",
            &words,
            PATIENCE,
        )
        .await?;
    let second = scenario.create("second", spec::on_volumes(1)).await?;
    second.becomes_available().await?;

    scenario
        .kubectl_with_input(
            &["replace", "--force", "--filename", "-"],
            &whole.to_string(),
        )
        .await?;
    cluster.becomes_healthy(1).await?;
    second.becomes_healthy(1).await?;
    let answer = scenario.operator()?.readiness().await?;
    ensure!(answer.contains(" 200 "), "/readyz answers {answer}");
    Ok(())
}

pub(crate) async fn missing_image(scenario: &mut Scenario) -> Result<()> {
    let mut nowhere = spec::on_volumes(1);
    nowhere["repository"] = json!("localhost:5000/nowhere");
    let cluster = scenario.create("imageless", nowhere).await?;
    let neighbour = scenario.create("neighbour", spec::in_pods(1)).await?;
    cluster
        .awaits_condition(
            "Progressing",
            ConditionStatus::True,
            "Forming",
            &["its container waits", "Image"],
            PATIENCE,
        )
        .await?;
    neighbour.becomes_healthy(1).await?;
    cluster.edit(json!({"repository": null})).await?;
    cluster.becomes_healthy(1).await?;
    cluster
        .awaits_event("Warning", "BirthRestarted", "formed no quorum")
        .await
}

/// Expects the API server's refusal, in these words.
pub(crate) async fn is_refused(cluster: &Cluster, spec: Value, words: &[&str]) -> Result<()> {
    let Err(refusal) = cluster.create(spec.clone()).await else {
        bail!("{spec} was taken")
    };
    let refusal = refusal.to_string();
    ensure!(
        words.iter().all(|word| refusal.contains(word)),
        "{spec} was refused in other words: {refusal}"
    );
    Ok(())
}

/// What objects are, without what controllers write into their status.
async fn as_made(scenario: &Scenario, objects: &[&str]) -> Result<String> {
    let columns = "--output=jsonpath={range .items[*]}{.metadata.uid} {.metadata.labels} {.metadata.ownerReferences} {.spec}{\"\\n\"}{end}";
    scenario
        .kubectl(&[&["get", columns], objects].concat())
        .await
}

/// Replaces the operator's rights on disruption budgets by these verbs, or none.
async fn grant_on_budgets(scenario: &Scenario, role: &Value, verbs: &[&str]) -> Result<()> {
    let mut role = role.clone();
    let rules = role
        .get_mut("rules")
        .and_then(Value::as_array_mut)
        .context("the role has no rules")?;
    rules.retain(|rule| rule.get("apiGroups") != Some(&json!(["policy"])));
    if !verbs.is_empty() {
        rules.push(
            json!({"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": verbs}),
        );
    }
    let patch = json!({"rules": role["rules"]}).to_string();
    scenario
        .kubectl(&[
            "patch",
            "role",
            "binnacle",
            "--type=merge",
            "--patch",
            &patch,
        ])
        .await
        .map(drop)
}
