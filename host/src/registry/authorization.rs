//! Shows a registry, or who gives out its tokens, the login that there is.
//!
//! A login goes nowhere that the registry did not name, and in no error.

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, Request, Url};
use serde::Deserialize;

use super::challenge::Challenge;
use super::{Error, Login, Repository, Right, WORDS_LIMIT, is_denial};

impl Repository {
    /// The header that lets a request through after this challenge.
    pub(super) async fn authorize(
        &self,
        challenge: Challenge,
        right: Right,
    ) -> Result<HeaderValue, Error> {
        #[derive(Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
        }
        let denied = || self.denied(right);
        let login = self.access.login.as_ref();
        let (realm, service) = match challenge {
            Challenge::Basic => return login.and_then(Login::basic).ok_or_else(denied),
            Challenge::Bearer { realm, service } => (realm, service),
        };
        let actions = match right {
            Right::Read => "pull",
            Right::Write => "pull,push",
        };
        let scope = format!("repository:{}:{actions}", self.reference.repository());
        let mut url = Url::parse(&realm).map_err(|_| denied())?;
        url.query_pairs_mut()
            .extend_pairs(service.iter().map(|service| ("service", service)))
            .append_pair("scope", &scope);
        let mut request = Request::new(Method::GET, url);
        if let Some(basic) = login.and_then(Login::basic) {
            request.headers_mut().insert(AUTHORIZATION, basic);
        }
        let response = self.execute(request).await?;
        if is_denial(response.status()) {
            return Err(denied());
        }
        let what = "a token".to_owned();
        let response = self.judged(response, &what).await?;
        let bytes = self.read(response, WORDS_LIMIT, &what).await?;
        let token = serde_json::from_slice::<Token>(&bytes).ok();
        let token = token.and_then(|found| found.token.or(found.access_token));
        let bearer = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        let mut bearer = bearer.ok_or_else(denied)?;
        bearer.set_sensitive(true);
        Ok(bearer)
    }

    /// That it may not be done by who asked.
    pub(super) fn denied(&self, right: Right) -> Error {
        Error::Denied {
            repository: self.reference.name(),
            verb: match right {
                Right::Read => "read",
                Right::Write => "written",
            },
            by: match &self.access.login {
                Some(login) => format!("by {}", login.user()),
                None => "without a login".to_owned(),
            },
        }
    }
}
