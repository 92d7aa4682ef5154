//! When periodic backups are taken: every so many seconds, or at the times of a crontab in a time zone.
//!
//! Knows no status and no backup. Time zones are those of the IANA database that is part of the module.

use contract::{BackupPolicy, Millis};
use cronexpr::{Crontab, MakeTimestamp};
use jiff::tz::TimeZone;

/// The longest interval: ten years.
const LONGEST: i64 = 3660 * 24 * 3600;
/// The most by which a time is put off: a day.
const MOST_JITTER: i64 = 24 * 3600;
/// Names for frequent schedules, as crontab(5) has them.
const NAMED: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// The rhythm of a periodic backup.
pub(crate) enum Rhythm {
    /// From one to the next.
    Every(Millis),
    /// Only before what somebody asks it for.
    OnDemand,
    /// At times of a calendar, each put off by the same while.
    At {
        crontab: Box<Crontab>,
        jitter: Millis,
    },
}

impl Rhythm {
    /// The rhythm of a policy; none where a backup is taken once. `uid` is that of the object.
    ///
    /// # Errors
    /// The field that cannot be followed, and why, in words.
    pub(crate) fn of(policy: &BackupPolicy, uid: &str) -> Result<Option<Self>, String> {
        let interval = policy
            .backup_interval_in_second
            .filter(|seconds| *seconds > 0);
        let schedule = policy.schedule.as_deref().filter(|text| !text.is_empty());
        let zone = policy.time_zone.as_deref().filter(|name| !name.is_empty());
        let jitter = policy.jitter_in_second.unwrap_or_default();
        if jitter < 0 {
            return Err(format!(
                "jitterInSecond {jitter} is negative. Leave it out or set it to 0 or more"
            ));
        }
        match (interval, schedule) {
            (Some(_), Some(_)) => Err(
                "backupIntervalInSecond and schedule both say when a backup is taken. Take one of them out".to_owned(),
            ),
            (_, None) if (zone.is_some() && policy.verify_schedule.is_none()) || jitter != 0 => Err(
                "timeZone and jitterInSecond belong to a schedule, and there is none. Add it or take them out".to_owned(),
            ),
            (Some(seconds), None) => Ok(Some(Self::Every(Millis::seconds(seconds.min(LONGEST))))),
            (None, None) if policy.before.as_ref().is_some_and(|acts| !acts.is_empty()) => {
                Ok(Some(Self::OnDemand))
            }
            (None, None) => Ok(None),
            (None, Some(schedule)) => {
                let crontab = Box::new(parse(schedule, zone.unwrap_or("UTC"))?);
                let jitter = spread(uid, jitter.min(MOST_JITTER));
                Ok(Some(Self::At { crontab, jitter }))
            }
        }
    }

    /// The rhythm in which it is tried whether the newest backup restores; none where each is tried once it is stored.
    ///
    /// # Errors
    /// The field that cannot be followed, and why, in words.
    pub(super) fn of_rehearsals(policy: &BackupPolicy) -> Result<Option<Self>, String> {
        let schedule = policy.verify_schedule.as_deref();
        let Some(schedule) = schedule.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let zone = policy.time_zone.as_deref().filter(|name| !name.is_empty());
        let crontab = parse(schedule, zone.unwrap_or("UTC"));
        // The words begin with the name of the field.
        let crontab =
            Box::new(crontab.map_err(|why| why.replacen("schedule", "verifySchedule", 1))?);
        let jitter = Millis(0);
        Ok(Some(Self::At { crontab, jitter }))
    }

    /// The first time after this instant. Ten years later where a schedule has none.
    pub(crate) fn after(&self, at: Millis) -> Millis {
        match self {
            Self::Every(interval) => Millis(at.0 + interval.0),
            Self::OnDemand => Millis(at.0 + LONGEST * 1000),
            Self::At { crontab, jitter } => {
                let next = MakeTimestamp::from_millisecond(at.0 - jitter.0)
                    .and_then(|from| crontab.find_next(from));
                next.map_or(Millis(at.0 + LONGEST * 1000), |next| {
                    Millis(next.timestamp().as_millisecond() + jitter.0)
                })
            }
        }
    }

    /// Whether the instant, planned earlier, is one of this rhythm's: a schedule may have been edited since.
    pub(super) fn has(&self, at: Millis) -> bool {
        match self {
            Self::Every(_) => true,
            Self::OnDemand => false,
            Self::At { crontab, jitter } => MakeTimestamp::from_millisecond(at.0 - jitter.0)
                .and_then(|at| crontab.matches(at))
                .unwrap_or(false),
        }
    }

    /// The next time, where one was planned before, of an object of this age: a rhythm that no longer has it counts from now
    /// on.
    pub(crate) fn planned(&self, before: Option<Millis>, created: Millis, now: Millis) -> Millis {
        let from_now_on = self.after(now);
        match before {
            None => self.after(created).min(from_now_on),
            Some(next) if self.has(next) => next.min(from_now_on),
            Some(_edited) => from_now_on,
        }
    }

    /// How many of its times lie after `due` and not after `now`, and the first one after `now`.
    pub(crate) fn missed(&self, due: Millis, now: Millis) -> (i64, Millis) {
        match self {
            Self::Every(interval) => {
                let passed = now.since(due).0 / interval.0;
                (passed, Millis(due.0 + (passed + 1) * interval.0))
            }
            Self::OnDemand => (0, self.after(now)),
            Self::At { .. } => {
                let (mut passed, mut next) = (0, self.after(due));
                while next <= now && passed < MOST_COUNTED {
                    passed += 1;
                    next = self.after(next);
                }
                (passed, if next <= now { self.after(now) } else { next })
            }
        }
    }
}

/// More than these are told as so many: each costs a search in the calendar.
const MOST_COUNTED: i64 = 1000;

fn parse(schedule: &str, zone: &str) -> Result<Crontab, String> {
    if TimeZone::get(zone).is_err() {
        return Err(format!(
            "timeZone \"{zone}\" is not the IANA name of a time zone. Write it like Europe/Berlin"
        ));
    }
    let written = schedule.trim();
    let named = NAMED.iter().find(|(name, _)| *name == written);
    let fields = named.map_or(written, |(_, fields)| *fields);
    let wrong = |why: String| {
        format!(
            "schedule \"{schedule}\" cannot be read: {why}. Write minute, hour, day of month, month and day of week, like \
             \"30 3 * * *\", or one of @hourly, @daily, @weekly, @monthly, @yearly"
        )
    };
    match fields.split_whitespace().count() {
        5 => {}
        1 => return Err(wrong("it has 1 field and not 5".to_owned())),
        count => return Err(wrong(format!("it has {count} fields and not 5"))),
    }
    let crontab = cronexpr::parse_crontab(&format!("{fields} {zone}"))
        .map_err(|error| wrong(complaint(&error.to_string())))?;
    // From a leap year on, whose February has all its days.
    let from = MakeTimestamp::from_millisecond(A_LEAP_YEAR.0);
    match from.and_then(|from| crontab.find_next(from)) {
        Ok(_) => Ok(crontab),
        Err(_never) => Err(format!(
            "schedule \"{schedule}\" never comes: no month that it names has such a day. Correct it"
        )),
    }
}

/// The first moment of 2024.
const A_LEAP_YEAR: Millis = Millis::seconds(1_704_067_200);

/// What is wrong with a crontab: the words beside the mark that its parser puts under a field, else its first line.
fn complaint(words: &str) -> String {
    let marked = words.lines().rev().find_map(|line| {
        let (_, said) = line.split_once('^')?;
        Some(said.trim_start_matches(['^', '~', ' ']))
    });
    let first = words.lines().next().unwrap_or_default();
    let said = marked.filter(|said| !said.is_empty()).unwrap_or(first);
    said.trim_end_matches(':').to_owned()
}

/// Always the same for one object, and spread over the whole while among many.
fn spread(uid: &str, most: i64) -> Millis {
    let mixed = uid.bytes().fold(0x811c_9dc5_u32, |mixed, byte| {
        (mixed ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    Millis::seconds(i64::from(mixed) % (most + 1))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::clock;

    fn rhythm(
        schedule: &str,
        zone: Option<&str>,
        jitter: Option<i64>,
    ) -> Result<Option<Rhythm>, String> {
        let policy = BackupPolicy {
            schedule: Some(schedule.to_owned()),
            time_zone: zone.map(str::to_owned),
            jitter_in_second: jitter,
            ..BackupPolicy::default()
        };
        Rhythm::of(&policy, "0a1b2c3d")
    }

    fn next(schedule: &str, zone: Option<&str>, after: &str) -> Option<String> {
        let rhythm = rhythm(schedule, zone, None).ok()??;
        Some(clock::spell(rhythm.after(clock::read(after)?)))
    }

    #[test]
    fn a_crontab_names_its_times() {
        let cases = [
            (
                "30 3 * * *",
                None,
                "2026-11-21T03:30:00Z",
                "2026-11-22T03:30:00Z",
            ),
            (
                "*/15 * * * *",
                None,
                "2026-11-21T03:31:00Z",
                "2026-11-21T03:45:00Z",
            ),
            (
                "@weekly",
                None,
                "2026-11-21T03:31:00Z",
                "2026-11-22T00:00:00Z",
            ),
            (
                "0 2 * * MON",
                None,
                "2026-11-21T03:31:00Z",
                "2026-11-23T02:00:00Z",
            ),
            (
                "30 3 * * *",
                Some("Asia/Kolkata"),
                "2026-11-21T00:00:00Z",
                "2026-11-21T22:00:00Z",
            ),
        ];
        for (schedule, zone, after, wanted) in cases {
            assert_eq!(
                next(schedule, zone, after).as_deref(),
                Some(wanted),
                "{schedule}"
            );
        }
    }

    /// In Berlin the clock jumps from 02:00 to 03:00 on 28 March 2027, and has 02:30 twice on 31 October.
    #[test]
    fn a_time_that_the_clock_skips_is_left_out_and_one_that_it_repeats_comes_twice() {
        let berlin = Some("Europe/Berlin");
        let rhythm = rhythm("30 2 * * *", berlin, None).unwrap().unwrap();
        for (from, to, days) in [
            ("2027-03-27T00:00:00Z", "2027-03-30T00:00:00Z", 2),
            ("2027-10-30T00:00:00Z", "2027-11-02T00:00:00Z", 4),
        ] {
            let (from, to) = (clock::read(from).unwrap(), clock::read(to).unwrap());
            let mut times = Vec::new();
            let mut at = rhythm.after(from);
            while at < to {
                times.push(clock::spell(at));
                at = rhythm.after(at);
            }
            assert_eq!(times.len(), days, "{times:?}");
        }
    }

    #[test]
    fn jitter_is_an_objects_own_and_keeps_the_rhythm() {
        let plain = rhythm("0 3 * * *", None, None).unwrap().unwrap();
        let put_off = rhythm("0 3 * * *", None, Some(600)).unwrap().unwrap();
        let from = clock::read("2026-11-21T12:00:00Z").unwrap();
        let (first, later) = (plain.after(from), put_off.after(from));
        assert!(later > first && later.since(first) <= Millis::seconds(600));
        assert!(put_off.has(later) && !put_off.has(first) && plain.has(first));
        assert_eq!(
            put_off.after(later).since(later),
            Millis::seconds(24 * 3600)
        );
        assert_eq!(
            put_off.missed(later, Millis(later.0 + 1)),
            (0, put_off.after(later))
        );
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        let why = |schedule, zone| rhythm(schedule, zone, None).err().unwrap_or_default();
        assert!(why("0 3 * *", None).contains("it has 4 fields and not 5"));
        let hour = why("0 25 * * *", None);
        assert!(
            hour.contains("cannot be read: value must be in range 0..=23; found 25"),
            "{hour}"
        );
        assert!(why("@often", None).contains("it has 1 field and"));
        assert!(why("0 0 31 2 *", None).contains("never comes"));
        assert_eq!(why("0 0 29 2 *", None), "");
        let negative = rhythm("0 3 * * *", None, Some(-4)).err();
        assert!(
            negative
                .unwrap_or_default()
                .starts_with("jitterInSecond -4 is negative")
        );
        assert!(why("0 3 * * *", Some("Mars/Base")).contains("is not the IANA name"));
    }
}
