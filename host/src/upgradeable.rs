//! Tells Operator Lifecycle Manager whether this is a good moment to replace the operator: the condition `Upgradeable` of the
//! OperatorCondition that it made for this version.
//!
//! Reads what the clusters' own status says. Knows of no upgrade, and does nothing where there is no such object.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::{Condition, ConditionStatus, Reason, Resource};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug, info, info_span, warn};

use crate::backoff::Backoff;
use crate::error::Chain;
use crate::observe::World;

const UPGRADEABLE: &str = "Upgradeable";
/// Between two writes: what changes faster is told once.
const PACE: Duration = Duration::from_secs(1);
/// Between two looks for an OperatorCondition where there was none.
const NO_OLM: Duration = Duration::from_secs(60);
/// How long the API server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    longest: Duration::from_secs(30),
};
/// Clusters that the message names; it is for people.
const NAMED: usize = 3;

/// Why the condition is not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the OperatorCondition could not be read or written")]
    Api(#[from] kube::Error),
    #[error("the API server did not answer within {TIMEOUT:?}")]
    Silent,
}

/// Whether the first word was said, so that nobody takes this instance for ready before.
#[derive(Clone, Debug)]
pub struct Told(Arc<AtomicBool>);

impl Told {
    /// Nothing was said; `expected` says whether anything will be.
    #[must_use]
    pub fn expecting(expected: bool) -> Self {
        Self(Arc::new(AtomicBool::new(!expected)))
    }

    /// Whether everything was said that has to be.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is said of the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moment {
    upgradeable: bool,
    reason: Reason,
    message: String,
}

/// Starts to keep the condition of this name, if there is one, until `stop`.
pub fn start(
    name: Option<String>,
    client: &Client,
    namespace: &str,
    world: &Arc<World>,
    stop: &CancellationToken,
) -> Told {
    let told = Told::expecting(name.is_some());
    if let Some(name) = name {
        let (client, namespace, world) = (client.clone(), namespace.to_owned(), Arc::clone(world));
        let (told, stop) = (told.clone(), stop.clone());
        let telling = async move {
            let keeping = keep(client, &namespace, &name, &world, &told);
            stop.run_until_cancelled(keeping).await
        };
        tokio::spawn(telling.instrument(info_span!("upgradeable")));
    }
    told
}

/// Keeps the condition of `name` as the clusters are, for ever.
async fn keep(client: Client, namespace: &str, name: &str, world: &World, told: &Told) {
    let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &kind());
    world.settle().await;
    let mut changes = world.changes();
    let (mut said, mut failures) = (None, 0);
    loop {
        let moment = moment(world);
        if said.as_ref() != Some(&moment) {
            match say(&api, name, &moment).await {
                Ok(()) => {
                    failures = 0;
                    said = Some(moment);
                    told.0.store(true, Ordering::Relaxed);
                }
                Err(Error::Api(kube::Error::Api(status))) if matches!(status.code, 403 | 404) => {
                    // The variable alone is no OLM; without the object or the right to it nobody waits for a word. OLM may
                    // make both later than the pod.
                    if !told.0.swap(true, Ordering::Relaxed) {
                        info!(
                            condition = name,
                            answer = status.message,
                            "There is no OperatorCondition to write"
                        );
                    }
                    tokio::time::sleep(NO_OLM).await;
                    continue;
                }
                Err(error) => {
                    if failures == 0 {
                        warn!(error = %Chain(&error), condition = name, "Upgradeable could not be told; it is tried again");
                    }
                    tokio::time::sleep(RETRY.delay(failures)).await;
                    failures += 1;
                    continue;
                }
            }
        }
        tokio::time::sleep(PACE).await;
        if changes.changed().await.is_err() {
            return;
        }
    }
}

fn kind() -> ApiResource {
    ApiResource {
        group: "operators.coreos.com".to_owned(),
        version: "v2".to_owned(),
        api_version: "operators.coreos.com/v2".to_owned(),
        kind: "OperatorCondition".to_owned(),
        plural: "operatorconditions".to_owned(),
    }
}

fn moment(world: &World) -> Moment {
    let mut busy = Vec::new();
    world.each_cluster(|resource| {
        if let Some(reason) = mid_change(resource) {
            busy.push((format!("{}/{}", resource.namespace, resource.name), reason));
        }
    });
    of(busy)
}

fn of(mut busy: Vec<(String, Reason)>) -> Moment {
    busy.sort_by(|one, other| one.0.cmp(&other.0));
    let Some((_, reason)) = busy.first() else {
        return Moment {
            upgradeable: true,
            reason: Reason::AsSpecified,
            message: "No cluster is in mid-change.".to_owned(),
        };
    };
    let named: Vec<_> = busy
        .iter()
        .take(NAMED)
        .map(|(name, reason)| format!("{name} ({})", reason.name()))
        .collect();
    let more = match busy.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Moment {
        upgradeable: false,
        reason: *reason,
        message: format!("In mid-change: {}{more}.", named.join(", ")),
    }
}

/// What is under way in a cluster, if anything is that the next operator should not have to take up half done. One that
/// waits for a person does not hold anybody: the next operator may be what it waits for.
fn mid_change(resource: &Resource) -> Option<Reason> {
    let conditions = Vec::<Condition>::deserialize(resource.status.get("conditions")?).ok()?;
    let holds = |kind: &str| {
        conditions
            .iter()
            .find(|one| one.kind == kind && one.status == ConditionStatus::True)
    };
    let progressing = holds("Progressing")?;
    if holds("Blocked").is_some() {
        return None;
    }
    let known = Reason::ALL
        .iter()
        .find(|reason| reason.name() == progressing.reason);
    known.copied()
}

/// Writes the condition unless it stands there, so that a stale one of an earlier life goes at the first word.
async fn say(api: &Api<DynamicObject>, name: &str, moment: &Moment) -> Result<(), Error> {
    let found = within(api.get(name)).await?;
    let all = found
        .data
        .pointer("/spec/conditions")
        .and_then(Value::as_array);
    let (mut ours, mut conditions): (Vec<_>, Vec<_>) = all
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .partition(|one| one["type"] == UPGRADEABLE);
    let before = ours.pop();
    let status = if moment.upgradeable { "True" } else { "False" };
    let is_same = |key: &str, value: &str| before.as_ref().is_some_and(|one| one[key] == value);
    if is_same("status", status)
        && is_same("reason", moment.reason.name())
        && is_same("message", &moment.message)
    {
        return Ok(());
    }
    let since = match &before {
        Some(before) if before["status"] == status => before["lastTransitionTime"].clone(),
        Some(_) | None => json!(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    };
    conditions.push(json!({
        "type": UPGRADEABLE,
        "status": status,
        "reason": moment.reason.name(),
        "message": moment.message,
        "lastTransitionTime": since,
    }));
    let patch = Patch::Merge(json!({"spec": {"conditions": conditions}}));
    within(api.patch(name, &PatchParams::default(), &patch)).await?;
    debug!(status, reason = moment.reason.name(), "Told OLM");
    Ok(())
}

async fn within<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Error> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Error::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ApiServer;

    const OBJECT: &str =
        "/apis/operators.coreos.com/v2/namespaces/infra/operatorconditions/binnacle.v1";

    fn with(conditions: &Value) -> Resource {
        let resource = json!({
            "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "namespace": "infra", "name": "kv",
            "uid": "u", "resourceVersion": "1", "created": 0, "spec": {}, "status": {"conditions": conditions},
        });
        serde_json::from_value(resource).expect("a resource")
    }

    fn condition(kind: &str, status: &str, reason: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": ""})
    }

    #[test]
    fn a_cluster_that_moves_is_in_mid_change_and_one_at_rest_or_without_status_is_not() {
        let moving = json!([condition("Progressing", "True", "Forming")]);
        assert_eq!(mid_change(&with(&moving)), Some(Reason::Forming));
        let at_rest = json!([condition("Progressing", "False", "AsSpecified")]);
        assert_eq!(mid_change(&with(&at_rest)), None);
        assert_eq!(mid_change(&with(&json!(null))), None);
    }

    /// The release that would help must be able to come.
    #[test]
    fn a_cluster_that_waits_for_a_person_holds_nobody() {
        let blocked = json!([
            condition("Progressing", "True", "Forming"),
            condition("Blocked", "True", "Forming")
        ]);
        assert_eq!(mid_change(&with(&blocked)), None);
    }

    #[test]
    fn the_message_names_a_few_and_counts_the_rest() {
        assert!(of(Vec::new()).upgradeable);
        let busy = ["d", "a", "c", "b"].map(|name| (format!("infra/{name}"), Reason::Forming));
        let moment = of(busy.to_vec());
        assert!(!moment.upgradeable);
        assert_eq!(
            moment.message,
            "In mid-change: infra/a (Forming), infra/b (Forming), infra/c (Forming) and 1 more."
        );
    }

    fn object(conditions: &Value) -> Value {
        json!({
            "apiVersion": "operators.coreos.com/v2", "kind": "OperatorCondition",
            "metadata": {"name": "binnacle.v1"}, "spec": {"conditions": conditions},
        })
    }

    async fn said_over(conditions: &Value) -> Vec<(String, Value)> {
        let server = ApiServer::default()
            .answering("GET", OBJECT, 200, object(conditions))
            .answering("PATCH", OBJECT, 200, object(conditions));
        let api = Api::namespaced_with(server.client(), "infra", &kind());
        say(&api, "binnacle.v1", &of(Vec::new()))
            .await
            .expect("said");
        server.bodies()
    }

    /// An instance that died in mid-change must not hold the upgrade for ever.
    #[tokio::test]
    async fn a_stale_word_is_replaced_and_those_of_others_stay() {
        let other = condition("Other", "True", "Theirs");
        let stale = condition(UPGRADEABLE, "False", "Forming");
        let written = said_over(&json!([other, stale])).await;
        assert_eq!(written.len(), 1);
        let conditions = &written[0].1["spec"]["conditions"];
        assert_eq!(conditions[0]["type"], "Other");
        assert_eq!(
            (&conditions[1]["status"], &conditions[1]["reason"]),
            (&json!("True"), &json!("AsSpecified"))
        );
        assert!(conditions[1]["lastTransitionTime"].is_string());
    }

    #[tokio::test]
    async fn what_stands_there_is_not_written_again() {
        let stands = json!([{"type": UPGRADEABLE, "status": "True", "reason": "AsSpecified",
            "message": "No cluster is in mid-change."}]);
        assert!(said_over(&stands).await.is_empty());
    }

    /// The variable may be set where no OLM is.
    #[tokio::test]
    async fn without_the_object_nobody_waits_for_a_word() {
        let (world, told) = (World::new(&[]), Told::expecting(true));
        assert!(!told.is_told());
        let client = ApiServer::default().client();
        let telling = async {
            while !told.is_told() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            // OLM may make it later, so it is looked for again.
            () = keep(client, "infra", "binnacle.v1", &world, &told) => panic!("it gave up"),
            () = telling => {}
        }
    }
}
