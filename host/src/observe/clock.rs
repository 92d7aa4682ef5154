//! What time it is at the API server.
//!
//! Does not know what follows from a difference.

use contract::Millis;
use kube::Client;
use kube::client::Body;

use super::live::{Error, within};

/// What everybody may ask for who may log in (`system:public-info-viewer`).
const ANY_ANSWER: &str = "/version";

/// By how many milliseconds this clock is ahead of the API server's, to the second; none where the answer tells no time.
///
/// # Errors
/// It did not answer.
///
/// # Sources
/// <https://www.rfc-editor.org/rfc/rfc9110#name-date>
pub async fn ahead_of(client: &Client) -> Result<Option<i64>, Error> {
    let what = || "the API server's clock".to_owned();
    let request = hyper::Request::get(ANY_ANSWER).body(Body::empty());
    let call = async {
        let request = request.map_err(kube::Error::HttpError)?;
        client.send(request).await
    };
    let answer = within(what, call).await?;
    let own = jiff::Timestamp::now().as_millisecond();
    let told = answer.headers().get(hyper::header::DATE);
    Ok(told.and_then(|told| Some(own.saturating_sub(at(told.to_str().ok()?)?.0))))
}

fn at(date: &str) -> Option<Millis> {
    let told = jiff::fmt::rfc2822::parse(date).ok()?;
    Some(Millis(told.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_is_read() {
        assert_eq!(
            at("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(Millis(784_111_777_000))
        );
        assert_eq!(at("yesterday"), None);
    }
}
