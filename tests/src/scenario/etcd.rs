//! etcd as its own client sees it: who is a member, who leads, what is stored.
//!
//! Independent of the operator: asks the members themselves.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::ClientFiles;
use crate::testbed::Testbed;

/// One row of the member list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Member {
    /// Its name; empty until it has started.
    #[serde(default)]
    pub name: String,
    /// etcd's id.
    #[serde(rename = "ID")]
    pub id: u64,
    /// It has no vote.
    #[serde(default, rename = "isLearner")]
    pub learner: bool,
    /// Where its peers reach it.
    #[serde(default, rename = "peerURLs")]
    pub peer_urls: Vec<String>,
}

/// One member, asked at its pod's address.
#[derive(Clone)]
pub struct Etcd {
    testbed: Testbed,
    namespace: String,
    pod: String,
    client: Option<ClientFiles>,
}

impl Etcd {
    pub(crate) const fn new(
        testbed: Testbed,
        namespace: String,
        pod: String,
        client: Option<ClientFiles>,
    ) -> Self {
        Self {
            testbed,
            namespace,
            pod,
            client,
        }
    }

    /// The pod that is asked.
    #[must_use]
    pub fn pod(&self) -> &str {
        &self.pod
    }

    /// The member list as a quorum knows it, sorted by name.
    pub async fn members(&self) -> Result<Vec<Member>> {
        #[derive(Deserialize)]
        struct List {
            members: Vec<Member>,
        }
        let List { mut members } = self.json(&["member", "list"]).await?;
        members.sort();
        Ok(members)
    }

    /// The cluster's id, as this member knows it.
    pub async fn cluster_id(&self) -> Result<u64> {
        Ok(self.status().await?.header.cluster_id)
    }

    /// The id of this member.
    pub async fn id(&self) -> Result<u64> {
        Ok(self.status().await?.header.member_id)
    }

    /// The version of this member's server.
    pub async fn version(&self) -> Result<String> {
        Ok(self.status().await?.version)
    }

    /// Whether this member leads.
    pub async fn leads(&self) -> Result<bool> {
        let status = self.status().await?;
        Ok(status.leader == status.header.member_id)
    }

    /// Adds a member with a vote, as operators did before there were learners.
    pub async fn add_voter(&self, name: &str, peer_url: &str) -> Result<()> {
        let url = format!("--peer-urls={peer_url}");
        self.run(&["member", "add", name, &url]).await.map(drop)
    }

    /// Makes the user root, and from then on asks everybody who they are. A client's certificate of that name is one way to
    /// say it, and the only one here.
    pub async fn lock(&self) -> Result<()> {
        self.run(&["user", "add", "root", "--no-password"]).await?;
        self.run(&["user", "grant-role", "root", "root"]).await?;
        self.run(&["auth", "enable"]).await.map(drop)
    }

    /// Writes a key.
    pub async fn put(&self, key: &str, value: &str) -> Result<()> {
        self.run(&["put", key, value]).await.map(drop)
    }

    /// Reads a key as a quorum knows it.
    pub async fn get(&self, key: &str) -> Result<String> {
        self.read(key, "l").await
    }

    /// Reads a key from this member's own copy, which needs no quorum.
    pub async fn get_serializable(&self, key: &str) -> Result<String> {
        self.read(key, "s").await
    }

    async fn read(&self, key: &str, consistency: &str) -> Result<String> {
        let consistency = format!("--consistency={consistency}");
        let read = self
            .run(&["get", key, "--print-value-only", &consistency])
            .await?;
        Ok(read.trim_end_matches('\n').to_owned())
    }

    async fn status(&self) -> Result<Status> {
        #[derive(Deserialize)]
        struct Endpoint {
            #[serde(rename = "Status")]
            status: Status,
        }
        let endpoints: Vec<Endpoint> = self.json(&["endpoint", "status"]).await?;
        Ok(endpoints
            .into_iter()
            .next()
            .context("etcdctl told no status")?
            .status)
    }

    async fn json<T: for<'de> Deserialize<'de>>(&self, arguments: &[&str]) -> Result<T> {
        let text = self
            .run(&[arguments, &["--write-out=json"]].concat())
            .await?;
        serde_json::from_str(&text).with_context(|| format!("etcdctl answered {text}"))
    }

    async fn run(&self, arguments: &[&str]) -> Result<String> {
        let flags = self.client.iter().flat_map(ClientFiles::flags);
        let flags: Vec<String> = flags.collect();
        let mut all = vec!["--command-timeout=3s", "--dial-timeout=2s"];
        all.extend(flags.iter().map(String::as_str));
        all.extend(arguments);
        let scheme = if flags.is_empty() { "http" } else { "https" };
        self.testbed
            .etcdctl(&self.namespace, &self.pod, scheme, &all)
            .await
    }
}

#[derive(Deserialize)]
struct Status {
    header: Header,
    version: String,
    #[serde(default)]
    leader: u64,
}

#[derive(Deserialize)]
struct Header {
    cluster_id: u64,
    member_id: u64,
}
