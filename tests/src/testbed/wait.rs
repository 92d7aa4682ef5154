//! Waits for a condition, with a deadline and a sentence that says what it waited for.
//!
//! There is no plain sleep for callers: whoever has to wait names the thing that must become true.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::time::{Instant, sleep, timeout};

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
const A_TRY: Duration = Duration::from_secs(1);

/// Looks until `look` answers, at most for `within`.
///
/// An error of `look` means "not yet" and is what the last-seen part of the final message says.
pub async fn until<T, Look, Seen>(what: impl Display, within: Duration, mut look: Look) -> Result<T>
where
    Look: FnMut() -> Seen,
    Seen: Future<Output = Result<T>>,
{
    let deadline = Instant::now() + within;
    loop {
        let seen = match tokio::time::timeout_at(deadline, look()).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(not_yet)) => format!("{not_yet:#}"),
            Err(_) => "the last look itself did not come back".to_owned(),
        };
        if Instant::now() + BETWEEN_LOOKS >= deadline {
            return Err(anyhow!(
                "{what} did not happen within {within:?}; last seen: {seen}"
            ));
        }
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Waits until connections are taken at `address`, at most for `within`. Each try is a new one: where nobody knew of the
/// address when a connection was begun, that one goes nowhere for good.
pub async fn until_taken(
    what: impl Display,
    within: Duration,
    address: impl ToSocketAddrs + Clone,
) -> Result<()> {
    until(what, within, async || {
        timeout(A_TRY, TcpStream::connect(address.clone())).await??;
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::anyhow;

    use super::until;

    #[tokio::test]
    async fn a_wait_in_vain_says_for_what_and_what_was_seen() {
        let waited = until("spring", Duration::from_millis(1), async || {
            Err::<(), _>(anyhow!("snow"))
        })
        .await;
        let said = waited.map_err(|error| error.to_string());
        assert_eq!(
            said,
            Err("spring did not happen within 1ms; last seen: snow".to_owned())
        );
    }
}
