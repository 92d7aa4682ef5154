//! What a registry answers to who has not said who it is: the header `WWW-Authenticate`.

/// What it wants to see.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Name and password.
    Basic,
    /// A token that is given out elsewhere.
    Bearer {
        /// Where.
        realm: String,
        /// For whom.
        service: Option<String>,
    },
}

impl Challenge {
    /// Reads one; none of another kind.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let header = header.trim();
        let (scheme, rest) = match header.split_once(' ') {
            Some(parts) => parts,
            None => (header, ""),
        };
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        Some(Self::Bearer {
            realm: parameter(rest, "realm")?,
            service: parameter(rest, "service"),
        })
    }
}

/// The value of `name="value"`.
fn parameter(text: &str, name: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if key.trim_matches([',', ' ']).eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let bearer = r#"Bearer realm="https://auth.example/token",service="r.example",scope="repository:a/b:pull""#;
        assert_eq!(
            Challenge::parse(bearer),
            Some(Challenge::Bearer {
                realm: "https://auth.example/token".to_owned(),
                service: Some("r.example".to_owned()),
            })
        );
        assert_eq!(
            Challenge::parse(r#"Basic realm="Registry""#),
            Some(Challenge::Basic)
        );
        for other in [
            "",
            "Negotiate",
            "Bearer",
            r#"Bearer service="x""#,
            r#"Bearer realm="x"#,
        ] {
            assert_eq!(Challenge::parse(other), None, "{other}");
        }
    }
}
