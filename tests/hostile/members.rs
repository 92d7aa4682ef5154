//! The members of a simulated cluster, each at an address of its own: they answer what the snapshot has of them, and
//! remember whatever they are asked to change.
//!
//! Of etcd only what each pass asks, `Maintenance/Status` and `Cluster/MemberList`; its messages are those of
//! <https://github.com/etcd-io/etcd/blob/main/api/etcdserverpb/rpc.proto>.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, Response};
use contract::{EndpointStatus, EtcdView, Membership, names};
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Codes of gRPC.
const OK: &str = "0";
const UNIMPLEMENTED: &str = "12";
const UNAVAILABLE: &str = "14";

#[derive(Message)]
struct Header {
    #[prost(uint64, tag = "1")]
    cluster_id: u64,
    #[prost(uint64, tag = "2")]
    member_id: u64,
    #[prost(int64, tag = "3")]
    revision: i64,
}

#[derive(Message)]
struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(string, tag = "2")]
    version: String,
    #[prost(int64, tag = "3")]
    db_size: i64,
    #[prost(uint64, tag = "4")]
    leader: u64,
    #[prost(uint64, tag = "5")]
    raft_index: u64,
    #[prost(uint64, tag = "6")]
    raft_term: u64,
    #[prost(uint64, tag = "7")]
    raft_applied_index: u64,
    #[prost(string, repeated, tag = "8")]
    errors: Vec<String>,
    #[prost(int64, tag = "9")]
    db_size_in_use: i64,
    #[prost(bool, tag = "10")]
    is_learner: bool,
    #[prost(string, tag = "11")]
    storage_version: String,
    #[prost(int64, tag = "12")]
    db_size_quota: i64,
}

#[derive(Message)]
struct MemberListRequest {
    #[prost(bool, tag = "1")]
    linearizable: bool,
}

#[derive(Message)]
struct MemberListResponse {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    members: Vec<MemberRow>,
}

#[derive(Message)]
struct MemberRow {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, repeated, tag = "3")]
    peer_urls: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    client_urls: Vec<String>,
    #[prost(bool, tag = "5")]
    is_learner: bool,
}

/// Until this is dropped they answer.
pub(crate) struct Members {
    addresses: BTreeMap<String, String>,
    changes: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Members {
    pub(crate) async fn of(view: &EtcdView) -> Self {
        let changes = Arc::default();
        let mut addresses = BTreeMap::new();
        let mut serving = JoinSet::new();
        for endpoint in &view.endpoints {
            let listener = listen().await;
            let address = listener.local_addr().expect("it listens").ip();
            addresses.insert(endpoint.pod.clone(), address.to_string());
            let member = endpoint.status.seen().map(|status| Member {
                status: status.clone(),
                list: view.membership.seen().cloned(),
                changes: Arc::clone(&changes),
            });
            serving.spawn(serve(listener, member));
        }
        Self {
            addresses,
            changes,
            _serving: serving,
        }
    }

    /// Where the member in that pod is reached.
    pub(crate) fn address(&self, pod: &str) -> Option<String> {
        self.addresses.get(pod).cloned()
    }

    /// The method of every call but those that each pass makes, in order.
    pub(crate) fn changes(&self) -> Vec<String> {
        self.changes.lock().expect("no holder panics").clone()
    }
}

/// Listens where nobody else does: at the members' port of another loopback address each time.
async fn listen() -> TcpListener {
    static NEXT: AtomicU32 = AtomicU32::new(u32::from_be_bytes([127, 91, 0, 1]));
    let port = u16::try_from(names::CLIENT_PORT).expect("a port");
    for _ in 0..1000 {
        let address = Ipv4Addr::from(NEXT.fetch_add(1, Ordering::Relaxed));
        if let Ok(listener) = TcpListener::bind((address, port)).await {
            return listener;
        }
    }
    panic!("port {port} is taken at all of a thousand loopback addresses");
}

/// A member that does not answer hangs up.
async fn serve(listener: TcpListener, member: Option<Member>) {
    let mut connections = JoinSet::new();
    while let Ok((caller, _)) = listener.accept().await {
        if let Some(member) = &member {
            connections.spawn(converse(member.clone(), caller));
        }
    }
}

async fn converse(member: Member, caller: TcpStream) {
    let Ok(mut calls) = h2::server::handshake(caller).await else {
        return;
    };
    let mut under_way = JoinSet::new();
    while let Some(Ok((request, respond))) = calls.accept().await {
        under_way.spawn(answer(member.clone(), request, respond));
    }
}

/// One call of gRPC: a message with its length before it, and how it ended after it.
async fn answer(
    member: Member,
    request: Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    let mut asked = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        asked.extend_from_slice(&piece);
    }
    let (code, message) = match member.answer(head.uri.path(), asked.get(5..).unwrap_or_default()) {
        Ok(message) => (OK, message),
        Err(code) => (code, Vec::new()),
    };
    let mut head = Response::new(());
    let kind = HeaderValue::from_static("application/grpc");
    head.headers_mut().insert("content-type", kind);
    let mut stream = respond.send_response(head, false)?;
    if code == OK {
        let length = u32::try_from(message.len()).expect("a short message");
        let framed = [&[0], &length.to_be_bytes()[..], &message].concat();
        stream.send_data(framed.into(), false)?;
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static(code));
    stream.send_trailers(trailers)
}

#[derive(Clone)]
struct Member {
    status: EndpointStatus,
    list: Option<Membership>,
    changes: Arc<Mutex<Vec<String>>>,
}

impl Member {
    fn answer(&self, method: &str, message: &[u8]) -> Result<Vec<u8>, &'static str> {
        match method {
            "/etcdserverpb.Maintenance/Status" => Ok(self.status().encode_to_vec()),
            "/etcdserverpb.Cluster/MemberList" => {
                let asked = MemberListRequest::decode(message).unwrap_or_default();
                let list = self
                    .list
                    .as_ref()
                    .filter(|list| list.linearizable || !asked.linearizable);
                let list = list.ok_or(UNAVAILABLE)?;
                Ok(self.members(list).encode_to_vec())
            }
            _ => {
                self.note(method);
                Err(UNIMPLEMENTED)
            }
        }
    }

    fn note(&self, method: &str) {
        let mut changes = self.changes.lock().expect("no holder panics");
        changes.push(method.to_owned());
    }

    fn header(&self) -> Option<Header> {
        Some(Header {
            cluster_id: self.status.cluster_id.0,
            member_id: self.status.member_id.0,
            revision: self.status.revision.unwrap_or_default(),
        })
    }

    fn status(&self) -> StatusResponse {
        let status = &self.status;
        StatusResponse {
            header: self.header(),
            version: status.version.clone(),
            db_size: status.db_size,
            leader: status.leader.map_or(0, |leader| leader.0),
            raft_index: status.raft_index,
            raft_term: status.raft_term,
            raft_applied_index: status.raft_applied_index,
            errors: status.errors.clone(),
            db_size_in_use: status.db_size_in_use,
            is_learner: status.learner,
            storage_version: status.storage_version.clone().unwrap_or_default(),
            db_size_quota: status.quota.unwrap_or_default(),
        }
    }

    fn members(&self, list: &Membership) -> MemberListResponse {
        let row = |member: &contract::Member| MemberRow {
            id: member.id.0,
            name: member.name.clone(),
            peer_urls: member.peer_urls.clone(),
            client_urls: member.client_urls.clone(),
            is_learner: member.learner,
        };
        MemberListResponse {
            header: self.header(),
            members: list.members.iter().map(row).collect(),
        }
    }
}
