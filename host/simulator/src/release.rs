//! Versions of etcd 3: what an image holds, what a process runs, what its data was written by.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One release of etcd 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Release {
    /// The minor version.
    pub minor: u64,
    /// The patch.
    pub patch: u64,
}

impl Release {
    /// A release.
    #[must_use]
    pub const fn new(minor: u64, patch: u64) -> Self {
        Self { minor, patch }
    }

    /// Whether an image of it can be pulled.
    #[must_use]
    pub const fn is_published(self) -> bool {
        self.patch < 99
    }

    /// What is in an image, by its tag. An image without a version holds the default one.
    pub(crate) fn of_image(image: &str) -> Self {
        let tag = image.rsplit_once(":v").map_or("", |(_, tag)| tag);
        Self::read(tag).unwrap_or(DEFAULT)
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("3.")?.split('.');
        let minor = parts.next()?.parse().ok()?;
        let patch = parts.next()?.parse().ok()?;
        Some(Self { minor, patch })
    }
}

/// What a spec without a version means.
pub(crate) const DEFAULT: Release = Release::new(6, 16);

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}.{}", self.minor, self.patch)
    }
}
