//! The connections of one cluster's members, kept from pass to pass.
//!
//! Knows which pod a connection belongs to. Does not know what is asked over it.

use std::collections::{BTreeMap, BTreeSet};

use contract::Pod;

use super::{Connection, Error, Identity};

/// The connections to one cluster's members, one per pod. A pod that is made again is another pod.
#[derive(Default)]
pub struct Connections {
    by_pod_uid: BTreeMap<String, (String, Connection)>,
    identity: Option<Result<Identity, String>>,
}

impl Connections {
    /// Takes another identity for members that speak TLS. Connections under the old one are forgotten.
    pub fn identify(&mut self, identity: Option<Result<Identity, String>>) {
        let is_same = match (&self.identity, &identity) {
            (Some(Ok(old)), Some(Ok(new))) => old.is(new),
            (None, None) => true,
            (Some(_) | None, Some(_) | None) => false,
        };
        if !is_same {
            self.by_pod_uid.clear();
        }
        self.identity = identity;
    }

    /// Forgets the connections of pods that are gone.
    pub fn retain(&mut self, pods: &[Pod]) {
        let present: BTreeSet<&str> = pods.iter().map(|pod| pod.uid.as_str()).collect();
        self.by_pod_uid
            .retain(|uid, _| present.contains(uid.as_str()));
    }

    /// Forgets the connection to one pod. After a time-out it may be one that TCP keeps trying long after the member is back;
    /// the next call dials anew.
    pub fn forget(&mut self, pod_uid: &str) {
        self.by_pod_uid.remove(pod_uid);
    }

    /// The connection to a pod at its address, with TLS if its etcd serves clients with it.
    ///
    /// # Errors
    /// The address is not one, or there is no identity for TLS.
    pub async fn to(&mut self, pod: &Pod, address: &str) -> Result<Connection, Error> {
        if let Some((known, connection)) = self.by_pod_uid.get(&pod.uid)
            && known == address
        {
            return Ok(connection.clone());
        }
        let no_identity = |why: &str| Error::NoIdentity {
            why: why.to_owned(),
        };
        let identity = match (&pod.server_secret, &self.identity) {
            (None, _) => None,
            (Some(_), Some(Ok(identity))) => Some(identity),
            (Some(_), Some(Err(why))) => return Err(no_identity(why)),
            (Some(_), None) => return Err(no_identity("no Secret is named for it")),
        };
        let connection = Connection::open(&pod.name, address, identity).await?;
        self.by_pod_uid
            .insert(pod.uid.clone(), (address.to_owned(), connection.clone()));
        Ok(connection)
    }
}
