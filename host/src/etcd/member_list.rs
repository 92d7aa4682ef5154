//! `Cluster/MemberList` with the choice between a confirmed list and a member's own copy.
//!
//! etcd-client asks for the own copy only, so the call is spelled out here; its messages are those of
//! <https://github.com/etcd-io/etcd/blob/main/api/etcdserverpb/rpc.proto>.

use contract::{ClusterId, Member, MemberId, Membership};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

const METHOD: PathAndQuery = PathAndQuery::from_static("/etcdserverpb.Cluster/MemberList");

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct MemberListRequest {
    #[prost(bool, tag = "1")]
    linearizable: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MemberListResponse {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    members: Vec<MemberRow>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    cluster_id: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
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

pub(super) async fn call(
    channel: Channel,
    linearizable: bool,
) -> Result<MemberListResponse, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client
        .ready()
        .await
        .map_err(|error| Status::from_error(Box::new(error)))?;
    let codec = ProstCodec::<MemberListRequest, MemberListResponse>::default();
    let answer = client
        .unary(
            Request::new(MemberListRequest { linearizable }),
            METHOD,
            codec,
        )
        .await?;
    Ok(answer.into_inner())
}

impl MemberListResponse {
    /// The contract's form, sorted by id. None when the answer has no header.
    pub(super) fn into_membership(self, from: &str, linearizable: bool) -> Option<Membership> {
        let mut members: Vec<Member> = self
            .members
            .into_iter()
            .map(
                |MemberRow {
                     id,
                     name,
                     peer_urls,
                     client_urls,
                     is_learner,
                 }| Member {
                    id: MemberId(id),
                    name,
                    peer_urls,
                    client_urls,
                    learner: is_learner,
                },
            )
            .collect();
        members.sort_by_key(|member| member.id);
        let cluster_id = ClusterId(self.header?.cluster_id);
        Some(Membership {
            cluster_id,
            linearizable,
            from: from.to_owned(),
            members,
        })
    }
}
