//! Times as the status spells them: RFC 3339 in whole seconds, UTC.
//!
//! It converts and never asks what time it is.

use contract::Millis;
use jiff::Timestamp;

/// The instant as the status spells it.
pub(crate) fn spell(at: Millis) -> String {
    Timestamp::from_second(at.0.div_euclid(1000))
        .map_or_else(|_| String::new(), |instant| instant.to_string())
}

/// The instant as the names of backups spell it: `YYYY-MM-DD-HH:MM:SS`, UTC.
pub(crate) fn stamp(at: Millis) -> String {
    let spelled = spell(at).replace('T', "-");
    spelled.trim_end_matches('Z').to_owned()
}

/// The instant that the name of a backup spells; none when there is no such day or time.
pub(crate) fn of_stamp(stamp: &str) -> Option<Timestamp> {
    let (day, time) = stamp.rsplit_once('-')?;
    format!("{day}T{time}Z").parse().ok()
}

/// The instant a status spells; none when the text is no time.
pub(crate) fn read(text: &str) -> Option<Millis> {
    text.parse::<Timestamp>()
        .ok()
        .map(|instant| Millis(instant.as_millisecond()))
}

/// How long ago the instant is that a status spells; zero when the text is no time.
pub(crate) fn passed(text: &str, now: Millis) -> Millis {
    read(text).map_or(Millis(0), |since| now.since(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelled_time_is_read_back_to_the_second() {
        let at = Millis(1_795_000_000_123);
        assert_eq!(spell(at), "2026-11-18T11:06:40Z");
        assert_eq!(read(&spell(at)), Some(Millis(1_795_000_000_000)));
        assert_eq!(read("yesterday"), None);
    }
}
