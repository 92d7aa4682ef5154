//! etcd's own view of one cluster: every member asked at its own address, one of them for the member list.
//!
//! Says who answered what. Which of it is healthy, and which cluster is the right one, others judge.
//!
//! # Flow
//! 1. All pods with an address are asked for their status, together.
//! 2. The member list comes from a member that follows a leader, the leader first, and is confirmed by a quorum. Where
//!    none can be had, a member's own copy is shown and marked as such.
//! 3. Alarms are listed only when some status complains of one: the listing itself costs etcd an entry in its log. So are
//!    hashes of the keys, which cost more.
//!
//! # Guarantees
//! Each step is bounded by the time-out of one question, so a frozen member delays a pass by seconds and no other cluster.
//! A pod that is going, or whose member is not in the confirmed list, delays it by [`STRAGGLING`] only: nothing depends on
//! its answer.

mod hashes;

use std::time::Duration;

use contract::{
    Alarm, ClusterId, Endpoint, EndpointStatus, EtcdView, Membership, Observed, Pod, PodPhase,
    names,
};
use futures::StreamExt as _;
use futures::future::select_ok;
use futures::stream::FuturesUnordered;

use crate::error::Chain;
use crate::etcd::{Connection, Connections, Error};

/// The oldest server that confirms its member list by a quorum itself. Before it, a list comes from what a member has
/// applied, so a linearizable read at that member just before makes it as good as a confirmed one.
const CONFIRMS_SINCE: (u64, u64) = (3, 5);

/// How long everybody is waited for before it matters who is missing.
const STRAGGLING: Duration = Duration::from_millis(250);

/// One pod that was asked.
struct Asked<'a> {
    pod: &'a Pod,
    connection: Option<Connection>,
    status: Result<EndpointStatus, Silence>,
}

/// Why a pod has no status to show.
struct Silence {
    why: String,
    /// The connection is of no use any more.
    broken: bool,
}

/// Asks the members behind these pods. `recorded` is the cluster id the resource remembers: members of that cluster are
/// preferred where several clusters answer.
pub async fn view(
    connections: &mut Connections,
    pods: &Observed<Vec<Pod>>,
    recorded: Option<ClusterId>,
) -> EtcdView {
    let pods = match pods {
        Observed::Seen(pods) => pods.as_slice(),
        Observed::Absent => &[],
        Observed::Unknown(why) => return unknown(why),
    };
    connections.retain(pods);
    let mut dialled = Vec::new();
    for pod in pods {
        let Some(address) = &pod.ip else { continue };
        let connection = match pod.phase {
            // The address of a pod that ended may belong to another one by now.
            PodPhase::Succeeded | PodPhase::Failed => Err("the pod has ended".to_owned()),
            PodPhase::Pending | PodPhase::Running | PodPhase::Unknown => connections
                .to(pod, address)
                .await
                .map_err(|error| Chain(&error).to_string()),
        };
        dialled.push((pod, connection));
    }
    if dialled.is_empty() {
        return EtcdView {
            membership: Observed::Absent,
            endpoints: Vec::new(),
            alarms: Observed::Absent,
        };
    }
    let (mut asked, membership) = ask_all(dialled, recorded).await;
    hashes::ask(&mut asked).await;
    for asked in &asked {
        if asked.status.as_ref().is_err_and(|silence| silence.broken) {
            connections.forget(&asked.pod.uid);
        }
    }
    let answered = in_order_of_trust(&asked, recorded);
    let (membership, alarms) = tokio::join!(
        async {
            match membership {
                Some(membership) => Observed::Seen(membership),
                None => self::membership(&answered).await,
            }
        },
        alarms(&answered)
    );
    EtcdView {
        membership,
        alarms,
        endpoints: endpoints(asked),
    }
}

/// Asks all pods for their status. When some are late and the others confirm a member list meanwhile, that list says whom
/// it is worth to wait for; it is part of the answer then.
async fn ask_all<'a>(
    dialled: Vec<(&'a Pod, Result<Connection, String>)>,
    recorded: Option<ClusterId>,
) -> (Vec<Asked<'a>>, Option<Membership>) {
    let late = dialled.iter().map(|(pod, _)| *pod).collect();
    let asking = dialled
        .into_iter()
        .map(|(pod, connection)| ask(pod, connection))
        .collect();
    let mut round = Round {
        asking,
        late,
        asked: Vec::new(),
    };
    let _all_or_late = tokio::time::timeout(STRAGGLING, round.wait_for(|_| true)).await;
    let mut membership = None;
    if !round.late.is_empty() {
        membership = match self::membership(&in_order_of_trust(&round.asked, recorded)).await {
            Observed::Seen(membership) => {
                Some(membership).filter(|membership| membership.linearizable)
            }
            Observed::Absent | Observed::Unknown(_) => None,
        };
        round
            .wait_for(|pod| {
                let listed = membership
                    .as_ref()
                    .map(|membership| is_listed(membership, &pod.name));
                listed.is_none_or(|listed| listed && pod.deleted.is_none())
            })
            .await;
    }
    (round.end(), membership)
}

/// Questions under way: who answered, who did not yet.
struct Round<'a, F> {
    asking: FuturesUnordered<F>,
    late: Vec<&'a Pod>,
    asked: Vec<Asked<'a>>,
}

impl<'a, F: Future<Output = Asked<'a>>> Round<'a, F> {
    /// Takes answers until none of those who are late is wanted.
    async fn wait_for(&mut self, wanted: impl Fn(&Pod) -> bool) {
        while self.late.iter().any(|pod| wanted(pod)) {
            let Some(asked) = self.asking.next().await else {
                return;
            };
            self.late.retain(|pod| pod.name != asked.pod.name);
            self.asked.push(asked);
        }
    }

    /// Everybody, sorted by name; those who are still late did not answer.
    fn end(self) -> Vec<Asked<'a>> {
        let Self {
            asking: _,
            late,
            mut asked,
        } = self;
        asked.extend(late.into_iter().map(|pod| {
            let why = format!("no answer within {STRAGGLING:?}, and nothing depends on it");
            Asked {
                pod,
                connection: None,
                status: Err(Silence { why, broken: true }),
            }
        }));
        asked.sort_by(|a, b| a.pod.name.cmp(&b.pod.name));
        asked
    }
}

/// Whether the list has a member of that name, by the name it published or, before it has, by its peer URL.
fn is_listed(membership: &Membership, name: &str) -> bool {
    membership.members.iter().any(|member| {
        member.name == name
            || member
                .peer_urls
                .iter()
                .any(|url| names::member_of_url(url) == Some(name))
    })
}

fn unknown(why: &str) -> EtcdView {
    EtcdView {
        membership: Observed::Unknown(why.to_owned()),
        endpoints: Vec::new(),
        alarms: Observed::Unknown(why.to_owned()),
    }
}

async fn ask(pod: &Pod, connection: Result<Connection, String>) -> Asked<'_> {
    match connection {
        Ok(connection) => {
            let status = connection.status().await.map_err(|error| Silence {
                why: Chain(&error).to_string(),
                broken: matches!(error, Error::Silent { .. }),
            });
            Asked {
                pod,
                connection: Some(connection),
                status,
            }
        }
        Err(why) => Asked {
            pod,
            connection: None,
            status: Err(Silence { why, broken: false }),
        },
    }
}

fn endpoints(asked: Vec<Asked<'_>>) -> Vec<Endpoint> {
    asked
        .into_iter()
        .map(
            |Asked {
                 pod,
                 connection: _,
                 status,
             }| Endpoint {
                pod: pod.name.clone(),
                pod_uid: pod.uid.clone(),
                terminating: pod.deleted.is_some(),
                status: status
                    .map_or_else(|silence| Observed::Unknown(silence.why), Observed::Seen),
            },
        )
        .collect()
}

/// A member that answered.
#[derive(Clone, Copy)]
struct Answered<'a> {
    pod: &'a Pod,
    connection: &'a Connection,
    status: &'a EndpointStatus,
}

/// Those who answered: members of the recorded cluster first, voters before learners, the leader first among them.
fn in_order_of_trust<'a>(asked: &'a [Asked<'a>], recorded: Option<ClusterId>) -> Vec<Answered<'a>> {
    let mut answered: Vec<Answered<'a>> = asked
        .iter()
        .filter_map(|asked| {
            let (connection, status) = (asked.connection.as_ref()?, asked.status.as_ref().ok()?);
            Some(Answered {
                pod: asked.pod,
                connection,
                status,
            })
        })
        .collect();
    answered.sort_by_key(
        |Answered {
             pod: _,
             connection: _,
             status,
         }| {
            let foreign = recorded.is_some_and(|recorded| recorded != status.cluster_id);
            (
                foreign,
                status.learner,
                status.leader != Some(status.member_id),
            )
        },
    );
    answered
}

async fn membership(answered: &[Answered<'_>]) -> Observed<Membership> {
    let Some(first) = answered.first() else {
        return Observed::Unknown("no member answered".to_owned());
    };
    // A learner passes no such question on; those without a leader cannot confirm anything.
    let able: Vec<&Answered<'_>> = answered
        .iter()
        .filter(|answered| {
            let status = answered.status;
            status.cluster_id == first.status.cluster_id
                && status.leader.is_some()
                && !status.learner
        })
        .collect();
    if let Some((first, others)) = able.split_first() {
        if let Ok(membership) = list(first, true).await {
            return Observed::Seen(membership);
        }
        let others = others.iter().map(|answered| Box::pin(list(answered, true)));
        if others.len() > 0
            && let Ok((membership, _rest)) = select_ok(others).await
        {
            return Observed::Seen(membership);
        }
    }
    match select_ok(
        answered
            .iter()
            .map(|answered| Box::pin(list(answered, false))),
    )
    .await
    {
        Ok((membership, _rest)) => Observed::Seen(membership),
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

async fn list(answered: &Answered<'_>, linearizable: bool) -> Result<Membership, Error> {
    if linearizable && !confirms(&answered.status.version) {
        answered.connection.agree().await?;
    }
    answered
        .connection
        .members(&answered.pod.name, linearizable)
        .await
}

/// Servers before 3.5 ignore the wish for a confirmed list without saying so.
fn confirms(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= CONFIRMS_SINCE,
        (_, _) => false,
    }
}

async fn alarms(answered: &[Answered<'_>]) -> Observed<Vec<Alarm>> {
    let Some(first) = answered.first() else {
        return Observed::Unknown("no member answered".to_owned());
    };
    let complains =
        |status: &EndpointStatus| status.errors.iter().any(|error| error.contains("alarm:"));
    if !answered.iter().any(|answered| complains(answered.status)) {
        return Observed::Seen(Vec::new());
    }
    match first.connection.alarms().await {
        Ok(alarms) => Observed::Seen(alarms),
        Err(error) => Observed::Unknown(Chain(&error).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_that_know_the_wish_are_asked_to_confirm() {
        assert!(confirms("3.5.0"));
        assert!(confirms("3.6.16"));
        assert!(confirms("4.0.0"));
        assert!(!confirms("3.4.34"));
        assert!(!confirms("banana"));
    }

    #[tokio::test]
    async fn without_a_pod_there_is_nobody_to_ask() {
        let view = view(
            &mut Connections::default(),
            &Observed::Seen(Vec::new()),
            None,
        )
        .await;
        assert_eq!(view.membership, Observed::Absent);
        assert_eq!(view.alarms, Observed::Absent);
    }

    #[tokio::test]
    async fn pods_that_could_not_be_read_leave_etcd_unknown() {
        let pods = Observed::Unknown("forbidden".to_owned());
        let view = view(&mut Connections::default(), &pods, None).await;
        assert_eq!(view.membership, Observed::Unknown("forbidden".to_owned()));
    }
}
