//! From this dialect into the first one, and back: pure functions, which say what they could not carry over.
//!
//! `…_from` reads this dialect, `…_to` writes it. What both can say comes back unchanged from there and back again.
//! Whether a spec can be followed is not judged here.

mod backup;
mod cluster;
mod restore;
mod url;

use std::fmt;

pub use backup::{backup_from, backup_to, schedule_from, schedule_to};
pub use cluster::{cluster_from, cluster_to};
pub use restore::{restore_from, restore_to};

/// A spec in the other dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried<T> {
    /// What was carried over.
    pub spec: T,
    /// What was not.
    pub left: Vec<NotCarried>,
}

/// Something that the other dialect cannot say, or says in a way that means something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCarried {
    /// Where it stands.
    pub field: String,
    /// Why, and what to do.
    pub why: String,
}

/// The object that a spec is of, as far as the spec's meaning depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace, where it is known.
    pub namespace: Option<&'a str>,
    /// Its UID, of a living object.
    pub uid: Option<&'a str>,
    /// When it was created, of a living object.
    pub created: Option<&'a str>,
    /// The Secret with the store's credentials, where the spec names none.
    pub store_secret: Option<&'a str>,
}

impl fmt::Display for NotCarried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, why } = self;
        write!(f, "{field}: {why}")
    }
}

fn left(field: &str, why: impl Into<String>) -> NotCarried {
    NotCarried {
        field: field.to_owned(),
        why: why.into(),
    }
}
