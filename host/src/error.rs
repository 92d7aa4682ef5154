//! How errors are shown: the whole chain, once, at the place that logs it.

use std::error::Error;
use std::fmt;

/// Shows an error and all its sources, outermost first. Of what the API server refused, its own words.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = words(self.0);
        f.write_str(&shown)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = words(error);
            // Libraries often repeat their source in their own text.
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
                shown = text;
            }
            next = error.source();
        }
        Ok(())
    }
}

/// What an error says. The client library's own text of a refusal ends with all fields of the answer.
fn words(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) if !status.message.is_empty() => status.message.clone(),
        Some(_) | None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_server_is_quoted_without_the_form_of_its_answer() {
        let status = kube::core::Status::failure("rmod is forbidden", "Forbidden");
        let refused = kube::Error::Api(Box::new(status));
        assert_eq!(Chain(&refused).to_string(), "rmod is forbidden");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn every_source_is_shown_once() {
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(Chain(&error).to_string(), "outer: inner");
    }
}
