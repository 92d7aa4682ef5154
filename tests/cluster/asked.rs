//! What a person asks of a running operator through the API server: recordings, plans, explanations; with no right but
//! those that the documentation names.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::rbac::v1::Role;
use serde_json::Value;
use tests::scenario::{Scenario, spec};
use tests::testbed::wait;
use tokio::process::Command;

/// Who asks.
const PERSON: &str = "person";
const SOON: Duration = Duration::from_secs(60);

pub(crate) async fn through_the_api_server(scenario: &mut Scenario) -> Result<()> {
    scenario.deploy().await?;
    let cluster = scenario.create_healthy("shop", spec::on_volumes(1)).await?;
    let kubeconfig = person(scenario, &["etcd.database.coreos.com"]).await?;
    let to = scenario.folder().join("pulled");
    let namespace = scenario.namespace().to_owned();
    let pull = [
        "record",
        "pull",
        "--namespace",
        &namespace,
        "--to",
        text(&to)?,
    ];

    let refused = ask(scenario, &kubeconfig, &pull, 2).await?;
    ensure!(refused.contains("cannot be listed"), "{refused}");
    grant(scenario).await?;
    let told = ask(scenario, &kubeconfig, &pull, 0).await?;
    ensure!(told.contains("bytes transferred"), "{told}");
    // The very bytes that were pulled, with the modules that came with them.
    let replayed = ask(scenario, &kubeconfig, &["replay", text(&to)?], 0).await?;
    ensure!(replayed.contains("all equal"), "{replayed}");
    ask(scenario, &kubeconfig, &pull, 0).await?;
    ask(scenario, &kubeconfig, &["record", "check", text(&to)?], 0).await?;

    let explained = ask(
        scenario,
        &kubeconfig,
        &["explain", "shop", "--namespace", &namespace],
        0,
    )
    .await?;
    for words in [
        "What is waited for\n  nothing",
        "QuorumHealthy",
        "Looked at",
    ] {
        ensure!(explained.contains(words), "{words:?} is not in {explained}");
    }
    eprintln!("{explained}");

    let file = scenario.folder().join("shop.yaml");
    let edited = |spec: Value| -> Result<()> {
        let object = serde_json::json!({
            "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster",
            "metadata": {"name": "shop"}, "spec": spec,
        });
        Ok(std::fs::write(&file, object.to_string())?)
    };
    let plan = [
        "plan",
        "--namespace",
        &namespace,
        "--filename",
        text(&file)?,
    ];
    edited(spec::on_volumes(1))?;
    let same = ask(scenario, &kubeconfig, &plan, 0).await?;
    ensure!(same.contains("Nothing would be done"), "{same}");
    edited(spec::on_volumes(-1))?;
    let refused = ask(scenario, &kubeconfig, &plan, 1).await?;
    ensure!(
        refused.contains("the API server refuses the edit"),
        "{refused}"
    );
    edited(spec::on_volumes(3))?;
    let planned = ask(scenario, &kubeconfig, &plan, 2).await?;
    eprintln!("{planned}");
    ensure!(
        planned.contains("3 members, 3 healthy; nothing is left"),
        "{planned}"
    );
    ensure!(cluster.members().await?.len() == 1, "a plan did something");
    let json = [&plan[..], &["--output", "json"]].concat();
    let planned: Value = serde_json::from_str(&ask(scenario, &kubeconfig, &json, 2).await?)?;
    cluster.resize(3).await?;
    cluster.becomes_healthy(3).await?;
    done_as_planned(scenario, &kubeconfig, &planned).await?;
    scenario.undeploy().await
}

/// What was done to the members is what was planned, in number.
async fn done_as_planned(scenario: &Scenario, kubeconfig: &Path, planned: &Value) -> Result<()> {
    let to = scenario.folder().join("after");
    ask(
        scenario,
        kubeconfig,
        &[
            "record",
            "pull",
            "--namespace",
            scenario.namespace(),
            "--to",
            text(&to)?,
        ],
        0,
    )
    .await?;
    let listed = ask(scenario, kubeconfig, &["explain", text(&to)?], 0).await?;
    let steps = planned["steps"].as_array().context("there are no steps")?;
    for (name, words) in [
        ("AddLearner", "add learner"),
        ("Promote", "promote learner"),
    ] {
        let planned = steps.iter().filter(|step| step["name"] == name).count();
        let done = listed
            .lines()
            .filter(|line| {
                line.contains(words)
                    && !["failed", "refused"].iter().any(|word| line.contains(word))
            })
            .count();
        ensure!(
            planned == 2 && done >= 2,
            "{name}: {planned} planned, {done} done: {listed}"
        );
    }
    Ok(())
}

/// A ServiceAccount that may edit clusters of these groups, and a kubeconfig for it.
pub(crate) async fn person(scenario: &Scenario, groups: &[&str]) -> Result<std::path::PathBuf> {
    scenario
        .kubectl(&["create", "serviceaccount", PERSON])
        .await?;
    let kinds: Vec<String> = groups
        .iter()
        .map(|group| format!("--resource=etcdclusters.{group}"))
        .collect();
    let clusters = [
        "create",
        "role",
        "clusters",
        "--verb=get,create,update,patch",
    ];
    let kinds = kinds.iter().map(String::as_str);
    let clusters: Vec<&str> = clusters.into_iter().chain(kinds).collect();
    scenario.kubectl(&clusters).await?;
    bind(scenario, "clusters").await?;
    let namespace = scenario.namespace();
    scenario
        .testbed()
        .service_account_kubeconfig(namespace, PERSON)
        .await
}

/// The Role of docs/recordings.md.
pub(crate) async fn grant(scenario: &Scenario) -> Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/recordings.md");
    let docs = std::fs::read_to_string(docs)?;
    let role = docs
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let role = role.context("docs/recordings.md has no Role")?;
    scenario
        .kubectl_with_input(&["apply", "--filename", "-"], role)
        .await?;
    bind(scenario, "binnacle-recordings").await
}

/// Gives the person the rights of a Role. They are in effect a moment after they are stored.
pub(crate) async fn bind(scenario: &Scenario, role: &str) -> Result<()> {
    let account = format!("{}:{PERSON}", scenario.namespace());
    let (role_flag, account_flag) = (
        format!("--role={role}"),
        format!("--serviceaccount={account}"),
    );
    let arguments = ["create", "rolebinding", role, &role_flag, &account_flag];
    scenario.kubectl(&arguments).await?;
    let stored = scenario
        .kubectl(&["get", "role", role, "--output", "json"])
        .await?;
    let stored: Role = serde_json::from_str(&stored)?;
    let rule = stored.rules.and_then(|mut rules| rules.pop());
    let rule = rule.context("the Role has no rule")?;
    let verb = rule.verbs.first().context("the rule has no verb")?;
    let resource = rule.resources.iter().flatten().next();
    let resource = resource.context("the rule has no resource")?;
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let group = rule.api_groups.iter().flatten().next();
    let group = group.filter(|group| !group.is_empty());
    let resource = group.map_or_else(
        || resource.to_owned(),
        |group| format!("{resource}.{group}"),
    );
    let (sub, user) = (
        format!("--subresource={sub}"),
        format!("--as=system:serviceaccount:{account}"),
    );
    let may = ["auth", "can-i", verb, &resource, &sub, &user];
    wait::until(
        format!("the right of {PERSON} to {verb} {resource}"),
        SOON,
        async || scenario.kubectl(&may).await,
    )
    .await
    .map(drop)
}

/// Runs `binnacle` with the rights of `kubeconfig`; answers what it printed on both outputs.
pub(crate) async fn ask(
    scenario: &Scenario,
    kubeconfig: &Path,
    arguments: &[&str],
    code: i32,
) -> Result<String> {
    let output = Command::new(&scenario.suite().programs.program)
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .await
        .context("binnacle cannot be started")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(code),
        "binnacle {arguments:?} ended with {}: {errors}",
        output.status
    );
    let told = String::from_utf8(output.stdout)?;
    Ok(if code == 2 && told.is_empty() || code == 1 {
        format!("{told}{errors}")
    } else {
        told
    })
}

pub(crate) fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path of letters")
}
