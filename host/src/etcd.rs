//! Calls to one etcd member.
//!
//! Knows addresses and timeouts. It joins nothing, judges nothing and retries nothing.

mod connections;
mod contents;
mod error;
mod identity;
mod member_list;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use contract::{
    Alarm, AlarmKind, ClusterId, EndpointStatus, HashKv, MemberId, Membership, Millis, names,
};
use etcd_client::{
    AlarmAction, AlarmOptions, AlarmType, Client, CompactionOptions, DowngradeOptions, GetOptions,
    MemberAddOptions, SnapshotStreaming,
};
use tonic::transport::{Channel, Endpoint};

pub use connections::Connections;
pub use error::Error;
pub use identity::Identity;

/// How long a connection may take to come about.
const DIAL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a question may take. A frozen member costs a pass no more than this.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a membership change may take: a little more than etcd itself gives it.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(8);

/// The smallest key there can be.
const NO_KEY: &[u8] = &[0];

/// How long a compaction may take to reach the disk of the member that is asked. It goes on when nobody waits any more.
const COMPACTION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a member may take to rewrite its data file: one of 8 GiB on a slow disk. It goes on when nobody waits any more.
const DEFRAGMENTATION_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a member may take to read all its keys.
const HASH_TIMEOUT: Duration = Duration::from_secs(30);

/// etcd's answer to a compaction that another one has overtaken.
const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";
/// One member at its pod's address. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub struct Connection {
    channel: Channel,
    client: Client,
}

impl Connection {
    /// A connection to `member` that is dialled at the first call and again whenever it broke.
    ///
    /// # Errors
    /// The address is not one, or the identity cannot be used.
    pub async fn open(
        member: &str,
        address: &str,
        identity: Option<&Identity>,
    ) -> Result<Self, Error> {
        let channel = endpoint(member, address, identity)?.connect_lazy();
        let client =
            Client::from_channel(etcd_client::Channel::Tonic(channel.clone()), None).await?;
        Ok(Self { channel, client })
    }

    /// A connection to whoever answers at this address. With TLS the answer must come from `host`.
    ///
    /// # Errors
    /// The identity cannot be used.
    pub async fn at(
        address: SocketAddr,
        identity: Option<(&str, &Identity)>,
    ) -> Result<Self, Error> {
        let scheme = if identity.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
        let endpoint = endpoint.map_err(|_| Error::Address {
            address: address.to_string(),
        })?;
        let endpoint = endpoint.connect_timeout(DIAL_TIMEOUT);
        let endpoint = match identity {
            Some((host, identity)) => identity.secure_host(endpoint, host)?,
            None => endpoint,
        };
        let channel = endpoint.connect_lazy();
        let client =
            Client::from_channel(etcd_client::Channel::Tonic(channel.clone()), None).await?;
        Ok(Self { channel, client })
    }

    /// `Maintenance/Snapshot`: all data of this member, in pieces.
    ///
    /// # Errors
    /// It did not begin in time.
    pub async fn snapshot(&self) -> Result<SnapshotStreaming, Error> {
        let mut client = self.client.maintenance_client();
        within(CHANGE_TIMEOUT, client.snapshot()).await
    }

    /// `Maintenance/Status`: what the member says of itself.
    ///
    /// # Errors
    /// It did not answer in time, or not with a status.
    pub async fn status(&self) -> Result<EndpointStatus, Error> {
        let began = Instant::now();
        let mut client = self.client.maintenance_client();
        let answer = within(QUESTION_TIMEOUT, client.status()).await?;
        let header = answer.header().ok_or(Error::Headless)?;
        Ok(EndpointStatus {
            cluster_id: ClusterId(header.cluster_id()),
            member_id: MemberId(header.member_id()),
            leader: Some(answer.leader())
                .filter(|&leader| leader != 0)
                .map(MemberId),
            learner: answer.is_learner(),
            version: answer.version().to_owned(),
            storage_version: Some(answer.storage_version().to_owned())
                .filter(|version| !version.is_empty()),
            downgrade: answer
                .downgrade_info()
                .filter(|info| info.enabled())
                .map(|info| info.target_version().to_owned()),
            raft_term: answer.raft_term(),
            raft_index: answer.raft_index(),
            raft_applied_index: answer.raft_applied_index(),
            db_size: answer.db_size(),
            db_size_in_use: answer.raft_used_db_size(),
            quota: Some(answer.db_size_quota()).filter(|&quota| quota != 0),
            revision: Some(header.revision()),
            errors: answer.errors().to_vec(),
            hash_kv: None,
            took: Millis(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX)),
        })
    }

    /// `Cluster/MemberList`. A linearizable list is confirmed by a quorum; the other is the member's own copy.
    ///
    /// # Errors
    /// It did not answer in time; a linearizable list needs a quorum.
    pub async fn members(&self, from: &str, linearizable: bool) -> Result<Membership, Error> {
        let call = member_list::call(self.channel.clone(), linearizable);
        let answer = match tokio::time::timeout(QUESTION_TIMEOUT, call).await {
            Ok(answer) => answer.map_err(|status| Error::Call(Box::new(status)))?,
            Err(_elapsed) => {
                return Err(Error::Silent {
                    within: QUESTION_TIMEOUT,
                });
            }
        };
        answer
            .into_membership(from, linearizable)
            .ok_or(Error::Headless)
    }

    /// A linearizable read of nothing: the answer comes once the member has applied all that a quorum had agreed on when
    /// it was asked.
    ///
    /// # Errors
    /// It did not answer in time; the answer needs a quorum.
    pub async fn agree(&self) -> Result<(), Error> {
        let mut client = self.client.kv_client();
        let options = GetOptions::new().with_count_only();
        within(QUESTION_TIMEOUT, client.get(NO_KEY, Some(options)))
            .await
            .map(drop)
    }

    /// `Maintenance/Alarm`: the alarms that stand. Costs etcd an entry in its log, so it is asked only on suspicion.
    ///
    /// # Errors
    /// It did not answer in time; the answer needs a quorum.
    pub async fn alarms(&self) -> Result<Vec<Alarm>, Error> {
        let mut client = self.client.maintenance_client();
        let answer = within(
            QUESTION_TIMEOUT,
            client.alarm(AlarmAction::Get, AlarmType::None, None),
        )
        .await?;
        let alarms = answer.alarms().iter().filter_map(|alarm| {
            let kind = match alarm.alarm() {
                AlarmType::None => return None,
                AlarmType::Nospace => AlarmKind::Nospace,
                AlarmType::Corrupt => AlarmKind::Corrupt,
            };
            let member = Some(alarm.member_id())
                .filter(|&member| member != 0)
                .map(MemberId);
            Some(Alarm { member, kind })
        });
        let mut alarms: Vec<Alarm> = alarms.collect();
        alarms.sort_by_key(|alarm| (alarm.kind, alarm.member));
        Ok(alarms)
    }

    /// `Cluster/MemberAdd` as a learner.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn add_learner(&self, peer_urls: &[String]) -> Result<MemberId, Error> {
        let mut client = self.client.cluster_client();
        let options = MemberAddOptions::new().with_is_learner();
        let answer = within(CHANGE_TIMEOUT, client.member_add(peer_urls, Some(options))).await?;
        answer
            .member()
            .map(|member| MemberId(member.id()))
            .ok_or(Error::Headless)
    }

    /// `Cluster/MemberPromote`.
    ///
    /// # Errors
    /// etcd refused (a learner that lags is refused), or its answer was lost.
    pub async fn promote(&self, member: MemberId) -> Result<(), Error> {
        let mut client = self.client.cluster_client();
        within(CHANGE_TIMEOUT, client.member_promote(member.0))
            .await
            .map(drop)
    }

    /// `Cluster/MemberRemove`.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn remove(&self, member: MemberId) -> Result<(), Error> {
        let mut client = self.client.cluster_client();
        within(CHANGE_TIMEOUT, client.member_remove(member.0))
            .await
            .map(drop)
    }

    /// `Cluster/MemberUpdate`: where peers reach a member.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn update_member(&self, member: MemberId, urls: &[String]) -> Result<(), Error> {
        let mut client = self.client.cluster_client();
        within(CHANGE_TIMEOUT, client.member_update(member.0, urls))
            .await
            .map(drop)
    }

    /// `KV/Compact`, waiting until the history is gone from this member's disk. One that is gone already is no error.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn compact(&self, revision: i64) -> Result<(), Error> {
        let mut client = self.client.kv_client();
        let options = CompactionOptions::new().with_physical();
        match within(COMPACTION_TIMEOUT, client.compact(revision, Some(options))).await {
            Err(Error::Call(status)) if status.message() == COMPACTED => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// `Maintenance/Defragment` of this very member, which answers nobody meanwhile.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn defragment(&self) -> Result<(), Error> {
        let mut client = self.client.maintenance_client();
        within(DEFRAGMENTATION_TIMEOUT, client.defragment())
            .await
            .map(drop)
    }

    /// `Maintenance/Alarm`: ends no alarm, which is an entry of the log all the same.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn append_noop(&self) -> Result<(), Error> {
        let mut client = self.client.maintenance_client();
        within(
            CHANGE_TIMEOUT,
            client.alarm(AlarmAction::Deactivate, AlarmType::None, None),
        )
        .await
        .map(drop)
    }

    /// `Maintenance/Alarm`: ends an alarm. One that does not stand is no error.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn disarm(&self, kind: AlarmKind, member: Option<MemberId>) -> Result<(), Error> {
        let mut client = self.client.maintenance_client();
        let kind = match kind {
            AlarmKind::Nospace => AlarmType::Nospace,
            AlarmKind::Corrupt => AlarmType::Corrupt,
        };
        let mut options = AlarmOptions::new();
        options.with_member(member.map_or(0, |member| member.0));
        within(
            CHANGE_TIMEOUT,
            client.alarm(AlarmAction::Deactivate, kind, Some(options)),
        )
        .await
        .map(drop)
    }

    /// `Maintenance/Downgrade`: begins the way back to a minor version, or ends it.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn downgrade(&self, to: Option<&str>) -> Result<(), Error> {
        let mut client = self.client.maintenance_client();
        let options = to.map_or(DowngradeOptions::Cancel, |to| {
            DowngradeOptions::Enable(to.to_owned())
        });
        within(CHANGE_TIMEOUT, client.downgrade(options))
            .await
            .map(drop)
    }

    /// `Maintenance/HashKV`: the hash of all keys of this member up to a revision; zero is its newest.
    ///
    /// # Errors
    /// It did not answer in time, is a learner, or has that revision no more or not yet.
    pub async fn hash_kv(&self, revision: i64) -> Result<HashKv, Error> {
        let mut client = self.client.maintenance_client();
        let answer = within(HASH_TIMEOUT, client.hash_kv(revision)).await?;
        let newest = answer.header().ok_or(Error::Headless)?.revision();
        Ok(HashKv {
            revision: if revision == 0 { newest } else { revision },
            compact_revision: answer.compact_version(),
            hash: answer.hash(),
        })
    }

    /// `Maintenance/MoveLeader`; only the leader itself takes it.
    ///
    /// # Errors
    /// etcd refused, or its answer was lost.
    pub async fn move_leader(&self, to: MemberId) -> Result<(), Error> {
        let mut client = self.client.maintenance_client();
        within(CHANGE_TIMEOUT, client.move_leader(to.0))
            .await
            .map(drop)
    }
}

/// Where a member is dialled: always at its pod's address, because names do not resolve everywhere. This is the one
/// place that chooses the scheme; with TLS the certificate is verified for the member's DNS name, not the address.
fn endpoint(member: &str, address: &str, identity: Option<&Identity>) -> Result<Endpoint, Error> {
    let wrong = || Error::Address {
        address: address.to_owned(),
    };
    let ip: IpAddr = address.parse().map_err(|_| wrong())?;
    let authority = SocketAddr::new(ip, names::CLIENT_PORT as u16);
    let scheme = if identity.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{authority}")).map_err(|_| wrong())?;
    let endpoint = endpoint.connect_timeout(DIAL_TIMEOUT);
    match identity {
        Some(identity) => identity.secure(endpoint, member),
        None => Ok(endpoint),
    }
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Error::Silent { within: limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Chain;

    #[tokio::test]
    async fn a_member_that_does_not_listen_says_so_in_few_words() {
        let connection = Connection::open("shop-1", "127.255.255.254", None)
            .await
            .expect("an address");
        let error = connection.status().await.expect_err("nobody listens there");
        assert!(!error.is_answer());
        let words = Chain(&error).to_string();
        assert!(
            words.contains("Connection refused") && words.len() < 100,
            "{words}"
        );
    }
}
