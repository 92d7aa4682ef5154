//! Who asks a registry: name and password, as `docker login` and Secrets of the type `kubernetes.io/dockerconfigjson` keep them.
//!
//! A login has no `Debug`, so that nobody prints it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{Error, Reference};

/// Name and password.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    user: String,
    password: String,
}

/// The part of the file that is read.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl Login {
    /// The login for a reference's registry in a docker configuration file; none if it has none for it.
    ///
    /// # Errors
    /// It is no such file, or the entry holds no name and password.
    pub fn find(file: &[u8], reference: &Reference) -> Result<Option<Self>, Error> {
        let unreadable = |why: &str| Error::Login {
            registry: reference.registry().to_owned(),
            why: why.to_owned(),
        };
        // The parser's own words may quote what stands there.
        let file: File = serde_json::from_slice(file)
            .map_err(|_| unreadable("it is no docker configuration in JSON"))?;
        let name = reference.name();
        let matching = file.auths.into_iter().filter_map(|(key, entry)| {
            let place = place(&key);
            let is_for = name == place || name.starts_with(&format!("{place}/"));
            is_for.then_some((place.len(), entry))
        });
        let Some((_, entry)) = matching.max_by_key(|(length, _)| *length) else {
            return Ok(None);
        };
        let found = entry.login();
        found.map(Some).ok_or_else(|| {
            unreadable("its entry has no name and password; credential helpers are not asked")
        })
    }

    /// The login that `docker login` left on this machine, if there is one.
    ///
    /// # Errors
    /// The file is there and is none.
    pub fn of_docker(reference: &Reference) -> Result<Option<Self>, Error> {
        let folder = std::env::var_os("DOCKER_CONFIG")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")));
        let file = folder.and_then(|folder| std::fs::read(folder.join("config.json")).ok());
        file.map_or(Ok(None), |file| Self::find(&file, reference))
    }

    /// Who it is.
    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// What it shows.
    pub(super) fn password(&self) -> &str {
        &self.password
    }
}

impl Entry {
    fn login(self) -> Option<Login> {
        let Self {
            auth,
            username,
            password,
        } = self;
        let packed = auth.filter(|auth| !auth.is_empty()).and_then(|auth| {
            let text = String::from_utf8(STANDARD.decode(auth.trim()).ok()?).ok()?;
            let (user, password) = text.split_once(':')?;
            Some((user.to_owned(), password.to_owned()))
        });
        let (user, password) = packed.or_else(|| username.zip(password))?;
        Some(Login { user, password })
    }
}

/// The registry, and the part of it, that a key is for: docker writes some as the address of an older API.
fn place(key: &str) -> &str {
    let key = key.strip_prefix("https://").unwrap_or(key);
    let key = key.strip_prefix("http://").unwrap_or(key);
    let key = key.trim_end_matches('/');
    let key = ["/v1", "/v2"]
        .iter()
        .find_map(|end| key.strip_suffix(end))
        .unwrap_or(key);
    if key == "index.docker.io" {
        return "docker.io";
    }
    key
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(file: &serde_json::Value, reference: &str) -> Result<Option<String>, String> {
        let words = |error: Error| error.to_string();
        let reference = reference.parse().map_err(words)?;
        let found = Login::find(file.to_string().as_bytes(), &reference);
        let found = found.map_err(words)?;
        Ok(found.map(|login| format!("{}:{}", login.user, login.password)))
    }

    #[test]
    fn the_entry_for_the_most_of_the_name_is_taken_however_it_is_written() {
        let packed = STANDARD.encode("packed:secret:with:colons");
        let file = json!({"auths": {
            "https://ghcr.io/": {"auth": packed},
            "ghcr.io/team": {"username": "team", "password": "t"},
            "https://index.docker.io/v1/": {"username": "d", "password": "d"},
            "ghcr.io.evil": {"username": "e", "password": "e"},
        }});
        let told = |reference: &str| find(&file, reference).expect("a file");
        assert_eq!(
            told("ghcr.io/other/m:1").as_deref(),
            Some("packed:secret:with:colons")
        );
        assert_eq!(told("ghcr.io/team/m:1").as_deref(), Some("team:t"));
        assert_eq!(
            told("ghcr.io/teams/m:1").as_deref(),
            Some("packed:secret:with:colons")
        );
        assert_eq!(told("docker.io/a/m:1").as_deref(), Some("d:d"));
        assert_eq!(told("quay.io/a/m:1"), None);
    }

    #[test]
    fn what_is_no_login_is_refused_without_a_word_of_it() {
        let secret = json!({"auths": {"ghcr.io": {"auth": "hunter2"}}});
        let refused = find(&secret, "ghcr.io/m:1").expect_err("a refusal");
        assert!(
            refused.contains("no name and password") && !refused.contains("hunter2"),
            "{refused}"
        );
        let refused = find(&json!(["hunter2"]), "ghcr.io/m:1").expect_err("a refusal");
        assert!(
            refused.contains("no docker configuration") && !refused.contains("hunter2"),
            "{refused}"
        );
    }
}
