//! What is common to reading a living object of this dialect as one of the domain: whose it is, and what becomes of a spec
//! that nobody can follow.

use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{NotCarried, Subject};
use crate::Resource;

/// Why an object is over that was before this operator was there.
pub(super) const FAILED_BEFORE: &str = "the archived operator says that it failed";

/// The spec of a living object as one of the domain, as `carry` says it; text that says why, where that cannot be.
/// Credentials that it does not name are the operator's own, which the domain says by no name.
pub(super) fn spec_of<Stored, Domain>(
    stored: &Resource,
    carry: impl FnOnce(Stored, &Subject<'_>) -> Result<Domain, Vec<NotCarried>>,
) -> Value
where
    Stored: DeserializeOwned,
    Domain: Serialize,
{
    let created = Timestamp::from_millisecond(stored.created.0).map(|at| at.to_string());
    let subject = Subject {
        name: &stored.name,
        namespace: Some(&stored.namespace),
        uid: Some(&stored.uid),
        created: created.as_deref().ok(),
        store_secret: Some(""),
    };
    let carried = Stored::deserialize(&stored.spec)
        .map_err(|error| error.to_string())
        .and_then(|spec| {
            carry(spec, &subject).map_err(|why| {
                let words = why.iter().map(ToString::to_string);
                words.collect::<Vec<_>>().join("; ")
            })
        })
        .and_then(|spec| serde_json::to_value(spec).map_err(|error| error.to_string()));
    carried.unwrap_or_else(Value::String)
}
