//! Whether the host's clock may date a certificate, or say how old a backup is.
//!
//! Does not know which clock is wrong: the members' nodes go by neither, but most clusters keep all of them together.

use contract::Observed;

use crate::Refusal;

/// How far two clocks may differ, in milliseconds. Certificates begin that much before they were made.
pub const CLOCKS_DIFFER: i64 = 300_000;

/// A certificate that begins at the wrong time is trusted by nobody until then, and by a clock that is ahead every backup is
/// an old one.
pub(crate) fn check_clock(ahead: &Observed<i64>) -> Result<(), Refusal> {
    match ahead {
        Observed::Seen(ahead) if ahead.saturating_abs() <= CLOCKS_DIFFER => Ok(()),
        Observed::Seen(ahead) => Err(Refusal::ClocksDiffer { ahead: *ahead }),
        Observed::Absent => Err(unread("it tells no time")),
        Observed::Unknown(why) => Err(unread(why)),
    }
}

fn unread(why: &str) -> Refusal {
    Refusal::Unread {
        what: "the API server's clock",
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use contract::{Effect, ObjectPrecondition, Order};

    use super::*;
    use crate::fixtures::{action, fresh};
    use crate::{Fresh, check};

    fn rule(ahead: Observed<i64>) -> &'static str {
        let mut issue = action(Effect::Issue {
            secret: "a-authorities".to_owned(),
            order: Order::Authorities,
        });
        issue.pre.object = Some(ObjectPrecondition::Absent);
        let fresh = Fresh {
            clock_ahead: ahead,
            ..fresh().without_object()
        };
        check(&issue, &fresh).err().map_or("", |why| why.rule())
    }

    #[test]
    fn a_certificate_is_dated_by_a_clock_that_agrees_with_the_api_servers() {
        assert_eq!(rule(Observed::Seen(0)), "");
        assert_eq!(rule(Observed::Seen(-CLOCKS_DIFFER)), "");
        assert_eq!(rule(Observed::Seen(CLOCKS_DIFFER + 1)), "ClocksDiffer");
        assert_eq!(rule(Observed::Seen(i64::MIN)), "ClocksDiffer");
        assert_eq!(rule(Observed::Unknown("no answer".to_owned())), "Unread");
        assert_eq!(rule(Observed::Absent), "Unread");
    }

    #[test]
    fn whose_clock_is_wrong_by_how_much_is_said() {
        let words = |ahead| Refusal::ClocksDiffer { ahead }.to_string();
        assert!(
            words(3_600_000)
                .starts_with("the operator's clock is 3600 s ahead of the API server's")
        );
        assert!(
            words(-900_000).starts_with("the operator's clock is 900 s behind the API server's")
        );
    }
}
