//! What a store's error means, and how a person reads it.

use opendal::{Error, ErrorKind};

/// Whether another attempt would end the same way: the store answered, and the answer is no.
pub(crate) fn is_permanent(error: &Error) -> bool {
    let is_answer = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::ConfigInvalid
            | ErrorKind::Unsupported
    );
    is_answer || !(error.is_temporary() || error.is_persistent())
}

/// The store's code and message where it had any, else the causes. Requests, headers and numbers of requests are left
/// out: they differ each time and help nobody.
pub(crate) fn words(error: &Error) -> String {
    let message = error.message();
    let said = match (field(message, "code"), field(message, "message")) {
        (Some(code), Some(text)) => format!("{code}: {text}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => chain(error),
    };
    // What rustls says when the first bytes are none of its own.
    let no_tls = if said.contains("InvalidContentType") {
        "; it speaks no TLS, which an endpoint without http:// asks for"
    } else {
        ""
    };
    let what = if error.kind() == ErrorKind::PermissionDenied {
        "refuses these credentials"
    } else if error.kind() == ErrorKind::NotFound {
        "does not have it"
    } else {
        "failed"
    };
    format!("the store {what} ({said}{no_tls})")
}

/// A field of the store's answer, as opendal prints it: `code: "NoSuchBucket"`.
fn field<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(&format!("{name}: \""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.trim_end_matches('.')).filter(|value| !value.is_empty())
}

fn chain(error: &Error) -> String {
    let mut parts = vec![error.message().trim().to_owned()];
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let words = error.to_string();
        if !parts.iter().any(|part| part.contains(&words)) {
            parts.push(words);
        }
        source = error.source();
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        return error.kind().to_string();
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_says_is_what_a_person_reads() {
        let message = r#"S3Error { code: "NoSuchBucket", message: "The specified bucket does not exist.", resource: "/b", request_id: "18" }"#;
        let error = Error::new(ErrorKind::NotFound, message);
        assert_eq!(
            words(&error),
            "the store does not have it (NoSuchBucket: The specified bucket does not exist)"
        );
        assert!(is_permanent(&error));
    }

    #[test]
    fn a_server_without_tls_is_told_from_one_that_is_away() {
        let cause = std::io::Error::other("received corrupt message of type InvalidContentType");
        let error = Error::new(ErrorKind::Unexpected, "send http request").set_source(cause);
        assert!(
            words(&error).contains("without http://"),
            "{}",
            words(&error)
        );
    }

    #[test]
    fn silence_is_not_permanent() {
        let silent = Error::new(ErrorKind::Unexpected, "send http request").set_temporary();
        assert!(!is_permanent(&silent));
        assert_eq!(words(&silent), "the store failed (send http request)");
    }
}
