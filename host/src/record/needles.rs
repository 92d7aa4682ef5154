//! What a secret looks like in a recording: its own bytes, or their base64, or the beginning of a key of any kind.
//!
//! Pure search; where texts come from is not its business.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

/// Values that are shorter stand in texts by chance.
pub(super) const SHORTEST: usize = 8;

/// Beginnings of private keys and tokens, as they are and in base64, and what they are called.
const SHAPES: [(&str, &str); 8] = [
    ("PRIVATE KEY-----", "a private key in PEM"),
    (
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t",
        "a private key in base64",
    ),
    (
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt",
        "a private key in base64",
    ),
    (
        "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0t",
        "a private key in base64",
    ),
    ("eyJhbGciOi", "a token"),
    ("ghp_", "a token of GitHub"),
    ("github_pat_", "a token of GitHub"),
    ("QVdTX1NFQ1JFVF9BQ0NFU1Nf", "a cloud's secret key in base64"),
];

/// Everything that must not be found.
pub(super) struct Needles {
    known: Vec<(Vec<u8>, String)>,
}

impl Needles {
    /// The shapes of secrets, and the values of these Secrets.
    pub(super) fn new(secrets: &[Secret]) -> Self {
        let mut known: Vec<_> = SHAPES
            .map(|(shape, name)| (shape.as_bytes().to_vec(), name.to_owned()))
            .into();
        for secret in secrets {
            let of = secret.metadata.name.as_deref().unwrap_or_default();
            for (key, ByteString(value)) in secret.data.iter().flatten() {
                // Certificates are shown to everybody who connects.
                let is_public = value.starts_with(b"-----BEGIN CERTIFICATE-----");
                if value.len() < SHORTEST || is_public {
                    continue;
                }
                let name = format!("{key} of the Secret {of}");
                known.push((in_json(value), name.clone()));
                known.push((in_base64(value), name));
            }
        }
        Self { known }
    }

    /// How many values are looked for, besides the shapes.
    pub(super) const fn values(&self) -> usize {
        (self.known.len() - SHAPES.len()) / 2
    }

    /// What of it stands in `text`.
    pub(super) fn found_in(&self, text: &str) -> Option<&str> {
        let bytes = text.as_bytes();
        let is_there = |(needle, _): &&(Vec<u8>, String)| {
            !needle.is_empty() && bytes.windows(needle.len()).any(|part| part == needle)
        };
        self.known
            .iter()
            .find(is_there)
            .map(|(_, name)| name.as_str())
    }
}

/// As it would stand inside a JSON text.
fn in_json(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let quoted = serde_json::Value::String(text.trim_end().to_owned()).to_string();
    quoted.trim_matches('"').as_bytes().to_vec()
}

/// As a Secret's own JSON has it, without what depends on the end.
fn in_base64(value: &[u8]) -> Vec<u8> {
    let text = serde_json::to_value(ByteString(value.to_vec())).unwrap_or_default();
    let text = text.as_str().unwrap_or_default();
    let whole = value.len() / 3 * 4;
    text.as_bytes().get(..whole).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(key: &str, value: &str) -> Secret {
        Secret {
            data: Some([(key.to_owned(), ByteString(value.as_bytes().to_vec()))].into()),
            ..Secret::default()
        }
    }

    #[test]
    fn a_value_is_found_as_it_is_and_in_base64() {
        let needles = Needles::new(&[secret("password", "open sesame \"now\"")]);
        assert_eq!(needles.values(), 1);
        for text in [
            r#"{"env":"open sesame \"now\""}"#,
            r#"{"env":"b3BlbiBzZXNhbWUgIm5vdyI="}"#,
        ] {
            let found = needles.found_in(text).expect("it is there");
            assert!(found.starts_with("password of"), "{found}");
        }
        assert_eq!(needles.found_in(r#"{"env":"open"}"#), None);
    }

    #[test]
    fn keys_and_tokens_are_known_by_their_shape() {
        let needles = Needles::new(&[]);
        for text in [
            "-----BEGIN PRIVATE KEY-----\\nMIIE",
            "-----BEGIN RSA PRIVATE KEY-----",
            "bearer eyJhbGciOiJSUzI1NiJ9",
            "https://ghp_16C7e42F292c6912E7710c838347Ae178B4a@example.org",
        ] {
            assert!(needles.found_in(text).is_some(), "{text}");
        }
        assert_eq!(needles.found_in("-----BEGIN CERTIFICATE-----"), None);
    }

    /// Certificates and words as short as `true` would be found everywhere.
    #[test]
    fn what_is_public_or_short_is_not_looked_for() {
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB";
        let needles = Needles::new(&[secret("tls.crt", certificate), secret("a", "true")]);
        assert_eq!(needles.values(), 0);
    }
}
