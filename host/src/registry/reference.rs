//! The name of an artifact: registry, repository, and a tag or a digest.
//!
//! Nothing is guessed: a name without its registry, or without tag and digest, is refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Error;

/// A tag has at most so many letters.
const LONGEST_TAG: usize = 128;

/// `REGISTRY/REPOSITORY:TAG`, `REGISTRY/REPOSITORY@sha256:HEX`, or both, of which the digest counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// Host and port, as they were given.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository within the registry.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Registry and repository.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The digest, or else the tag.
    #[must_use]
    pub fn version(&self) -> &str {
        let version = self.digest.as_deref().or(self.tag.as_deref());
        version.unwrap_or_default()
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The same repository at another tag or digest, in words.
    pub(super) fn at(&self, version: &str) -> String {
        let mark = if version.contains(':') { '@' } else { ':' };
        format!("{}{mark}{version}", self.name())
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at(self.version()))
    }
}

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map_err(|why| Error::Reference {
            text: text.to_owned(),
            why: why.into(),
        })
    }
}

fn parse(text: &str) -> Result<Reference, &'static str> {
    let (text, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let (registry, rest) = text
        .split_once('/')
        .ok_or("name the registry, as in registry.example/team/module:1")?;
    let (repository, tag) = match rest.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (rest, None),
    };
    if !is_registry(registry) {
        return Err(
            "what is before the first / must be a registry, such as ghcr.io or localhost:5000",
        );
    }
    if !repository.split('/').all(is_part) {
        return Err("a repository has a-z, 0-9, and . _ - within its parts");
    }
    if !tag.is_none_or(is_tag) {
        return Err("a tag has letters, digits, and . _ - after the first");
    }
    if !digest.is_none_or(is_digest) {
        return Err("a digest is sha256: and 64 digits of lower-case hex");
    }
    if tag.is_none() && digest.is_none() {
        return Err("say which one, by :TAG or @sha256:HEX");
    }
    Ok(Reference {
        registry: registry.to_owned(),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest: digest.map(str::to_owned),
    })
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_host = host.split('.').all(|part| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    is_host && is_port && (host.contains('.') || port.is_some() || host == "localhost")
}

fn is_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    part.bytes().next().is_some_and(is_plain)
        && part.bytes().last().is_some_and(is_plain)
        && part
            .bytes()
            .all(|byte| is_plain(byte) || b"._-".contains(&byte))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= LONGEST_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag
            .bytes()
            .all(|byte| is_word(byte) || b".-".contains(&byte))
}

/// Whether a text is `sha256:` and a digest in hex.
pub(super) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64
            && hex
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_by_tag_and_by_digest_of_which_the_digest_counts() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let by_tag: Reference = "ghcr.io/team/module:1.2".parse().expect("a reference");
        assert_eq!(
            (by_tag.registry(), by_tag.repository()),
            ("ghcr.io", "team/module")
        );
        assert_eq!(by_tag.version(), "1.2");
        let both: Reference = format!("localhost:5000/m:1@{digest}").parse().expect("one");
        assert_eq!(both.version(), digest);
        assert_eq!(both.tag(), Some("1"));
        assert_eq!(both.to_string(), format!("localhost:5000/m@{digest}"));
    }

    /// What becomes part of an address must not lead elsewhere.
    #[test]
    fn what_is_no_reference_is_refused_in_words() {
        for (text, words) in [
            ("", "name the registry"),
            ("module:1", "name the registry"),
            ("team/module:1", "must be a registry"),
            ("ghcr.io/team/module", "say which one"),
            ("ghcr.io/Team/module:1", "a repository has"),
            ("ghcr.io/../module:1", "a repository has"),
            ("ghcr.io//module:1", "a repository has"),
            ("ghcr.io/m?x=1:1", "a repository has"),
            ("user@ghcr.io/m:1", "name the registry"),
            ("ghcr.io:port/m:1", "must be a registry"),
            ("https://ghcr.io/m:1", "must be a registry"),
            ("ghcr.io/m:-1", "a tag has"),
            ("ghcr.io/m:a/b", "a tag has"),
            ("ghcr.io/m@sha256:abc", "64 digits"),
            ("ghcr.io/m@sha512:abc", "64 digits"),
        ] {
            let refused = text
                .parse::<Reference>()
                .expect_err("a refusal")
                .to_string();
            assert!(refused.contains(words), "{words:?} is not in: {refused}");
        }
    }
}
