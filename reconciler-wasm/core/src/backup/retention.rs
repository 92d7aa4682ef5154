//! Which stored backups go: those that no rule of the spec keeps.
//!
//! Only objects whose names this backup made are counted or deleted. Revisions are compared as numbers. Where a cluster was
//! made anew its revisions began anew too, and those of before are higher: the newest by revision and the newest by time
//! are kept alike, so that neither the backups of a lost life go for those of an empty one, nor the other way round.

use std::collections::BTreeSet;

use contract::{BackupKey, BackupPolicy, BackupView, FindingKind, Millis, Observed, Reason};
use jiff::{Timestamp, tz::TimeZone};

use super::course::Course;
use super::delete;
use super::plan::Plan;
use crate::clock;

/// The rules. A backup stays that any of them keeps; without a rule all stay.
#[derive(Default)]
pub(super) struct Retention {
    /// So many of the highest revisions, and so many that were taken last.
    last: Option<usize>,
    /// Those that are younger.
    age: Option<Millis>,
    /// The newest of each of so many periods.
    periods: Vec<(Period, usize)>,
}

#[derive(Clone, Copy)]
enum Period {
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Retention {
    /// The rules of a policy.
    ///
    /// # Errors
    /// The field that is negative, in words.
    pub(super) fn of(policy: &BackupPolicy) -> Result<Self, String> {
        let keep = policy.keep.clone().unwrap_or_default();
        let periods = [
            ("keep.hourly", Period::Hour, keep.hourly),
            ("keep.daily", Period::Day, keep.daily),
            ("keep.weekly", Period::Week, keep.weekly),
            ("keep.monthly", Period::Month, keep.monthly),
            ("keep.yearly", Period::Year, keep.yearly),
        ];
        let mut rules = Self {
            last: number("maxBackups", policy.max_backups)?,
            age: number("maxAgeInSecond", policy.max_age_in_second)?
                .and_then(|seconds| i64::try_from(seconds).ok())
                .map(|seconds| Millis(seconds.saturating_mul(1000))),
            periods: Vec::new(),
        };
        for (field, period, asked) in periods {
            let count = number(field, asked)?;
            rules.periods.extend(count.map(|count| (period, count)));
        }
        Ok(rules)
    }

    const fn keeps_all(&self) -> bool {
        self.last.is_none() && self.age.is_none() && self.periods.is_empty()
    }

    /// Which of these, sorted by revision, no rule keeps: the oldest first.
    fn surplus<'a>(&self, own: &[(BackupKey, &'a str)], now: Millis) -> Vec<&'a str> {
        if self.keeps_all() {
            return Vec::new();
        }
        let mut latest: Vec<&(BackupKey, &str)> = own.iter().collect();
        latest.sort_by(|(a, _), (b, _)| (&a.at, a.revision).cmp(&(&b.at, b.revision)));
        let count = self.last.unwrap_or_default().max(1);
        let highest = own.iter().rev().take(count);
        let mut kept: BTreeSet<&str> = highest
            .chain(latest.into_iter().rev().take(count))
            .map(|(_, key)| *key)
            .collect();
        let mut by_time: Vec<(Option<Timestamp>, &str)> = own
            .iter()
            .map(|(name, key)| (clock::of_stamp(&name.at), *key))
            .collect();
        by_time.sort();
        let mut newest_first = by_time.iter().rev();
        // A name that is no time says nothing of its age, so nothing is deleted for it.
        let ageless = by_time
            .iter()
            .filter(|(at, _)| at.is_none())
            .map(|(_, key)| *key);
        kept.extend(ageless);
        if let Some(age) = self.age {
            let is_young = |at: &Timestamp| now.0 - at.as_millisecond() < age.0;
            let young = newest_first
                .clone()
                .filter(|(at, _)| at.as_ref().is_some_and(is_young));
            kept.extend(young.map(|(_, key)| *key));
        }
        for (period, count) in &self.periods {
            let mut seen = BTreeSet::new();
            let newest_of_each = newest_first.by_ref().clone().filter_map(|(at, key)| {
                let is_first = seen.insert(period.of(at.as_ref()?)) && seen.len() <= *count;
                is_first.then_some(*key)
            });
            kept.extend(newest_of_each);
        }
        let goes = own
            .iter()
            .map(|(_, key)| *key)
            .filter(|key| !kept.contains(key));
        goes.collect()
    }
}

impl Period {
    /// Year and number of the period that an instant is in, in UTC.
    fn of(self, at: &Timestamp) -> (i16, i32) {
        let at = at.to_zoned(TimeZone::UTC).datetime();
        let (year, day) = (at.year(), i32::from(at.date().day_of_year()));
        let week = at.date().iso_week_date();
        match self {
            Self::Hour => (year, day * 24 + i32::from(at.hour())),
            Self::Day => (year, day),
            Self::Week => (week.year(), i32::from(week.week())),
            Self::Month => (year, i32::from(at.month())),
            Self::Year => (year, 0),
        }
    }
}

/// None where a field does not count.
fn number(field: &str, value: Option<i64>) -> Result<Option<usize>, String> {
    let value = value.unwrap_or_default();
    let number = usize::try_from(value)
        .map_err(|_| format!("{field} {value} is negative. Leave it out or set it to 0 or more"))?;
    Ok(Some(number).filter(|number| *number > 0))
}

/// Counts what is stored and deletes what is too much.
pub(super) fn keep(course: &mut Course<'_>, plan: &Plan, view: &BackupView) {
    let stored = match &view.stored {
        Observed::Seen(stored) => stored,
        Observed::Absent => return,
        Observed::Unknown(why) => {
            course.find(
                FindingKind::Waiting,
                Reason::BackupWaiting,
                format!("The store could not be listed: {why}."),
            );
            return;
        }
    };
    let prefix = plan.place.key.as_str();
    let mut own: Vec<(BackupKey, &str)> = stored
        .iter()
        .filter_map(|object| Some((BackupKey::of(&object.key, prefix)?, object.key.as_str())))
        .collect();
    own.sort();
    course.status.stored_backups = i64::try_from(own.len()).ok();
    let surplus = plan.retention.surplus(&own, course.now());
    let why = format!(
        "of {} stored backups, which no rule of spec.backupPolicy keeps, the oldest first",
        own.len()
    );
    delete::delete(course, view, &surplus, &why, "");
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use contract::KeepPolicy;

    use super::*;

    const STAMPS: [&str; 8] = [
        "2026-08-30-03:00:00",
        "2026-10-31-03:00:00",
        "2026-11-15-03:00:00",
        "2026-11-19-03:00:00",
        "2026-11-20-03:00:00",
        "2026-11-20-15:00:00",
        "2026-11-21-03:00:00",
        "2026-11-21-03:30:00",
    ];

    /// Days and times of those that stay of [`STAMPS`], at noon of 21 November.
    fn kept(policy: BackupPolicy) -> Vec<&'static str> {
        let names: Vec<String> = (1..)
            .zip(STAMPS)
            .map(|(revision, at)| format!("b_v{revision}_{at}"))
            .collect();
        let own: Vec<_> = names
            .iter()
            .map(|name| (BackupKey::of(name, "b").unwrap(), name.as_str()))
            .collect();
        let now = clock::read("2026-11-21T12:00:00Z").unwrap();
        let goes = Retention::of(&policy).unwrap().surplus(&own, now);
        let stays = STAMPS
            .iter()
            .filter(|at| !goes.iter().any(|key| key.ends_with(*at)));
        stays.map(|at| &at[5..]).collect()
    }

    fn periods(keep: KeepPolicy) -> BackupPolicy {
        BackupPolicy {
            keep: Some(keep),
            ..BackupPolicy::default()
        }
    }

    #[test]
    fn without_a_rule_all_stay_and_the_newest_always() {
        assert_eq!(kept(BackupPolicy::default()).len(), STAMPS.len());
        let only_recent = BackupPolicy {
            max_age_in_second: Some(1),
            ..BackupPolicy::default()
        };
        assert_eq!(kept(only_recent), ["11-21-03:30:00"]);
    }

    #[test]
    fn the_young_stay() {
        let two_days = BackupPolicy {
            max_age_in_second: Some(48 * 3600),
            ..BackupPolicy::default()
        };
        let young = [
            "11-20-03:00:00",
            "11-20-15:00:00",
            "11-21-03:00:00",
            "11-21-03:30:00",
        ];
        assert_eq!(kept(two_days), young);
    }

    #[test]
    fn of_each_period_the_newest_stays() {
        let daily = KeepPolicy {
            daily: Some(2),
            ..KeepPolicy::default()
        };
        assert_eq!(kept(periods(daily)), ["11-20-15:00:00", "11-21-03:30:00"]);
        // 15 November is a Sunday: the week before.
        let weekly = KeepPolicy {
            weekly: Some(2),
            ..KeepPolicy::default()
        };
        assert_eq!(kept(periods(weekly)), ["11-15-03:00:00", "11-21-03:30:00"]);
        // September has none and is not counted.
        let monthly = KeepPolicy {
            monthly: Some(3),
            ..KeepPolicy::default()
        };
        assert_eq!(
            kept(periods(monthly)),
            ["08-30-03:00:00", "10-31-03:00:00", "11-21-03:30:00"]
        );
    }

    #[test]
    fn what_any_rule_keeps_stays() {
        let both = BackupPolicy {
            max_backups: Some(1),
            keep: Some(KeepPolicy {
                yearly: Some(5),
                hourly: Some(2),
                ..KeepPolicy::default()
            }),
            ..BackupPolicy::default()
        };
        assert_eq!(kept(both), ["11-20-15:00:00", "11-21-03:30:00"]);
    }

    /// Made anew at 3 o'clock, with revisions that began anew.
    #[test]
    fn neither_life_of_a_cluster_goes_for_the_other() {
        let names = [
            "b_v900_2026-11-21-01:00:00",
            "b_v910_2026-11-21-02:00:00",
            "b_v920_2026-11-21-03:00:00",
            "b_v1_2026-11-21-04:00:00",
            "b_v2_2026-11-21-05:00:00",
            "b_v3_2026-11-21-06:00:00",
        ];
        let mut own: Vec<_> = names
            .iter()
            .map(|name| (BackupKey::of(name, "b").unwrap(), *name))
            .collect();
        own.sort();
        let goes = |last| {
            let rules = Retention {
                last: Some(last),
                ..Retention::default()
            };
            rules.surplus(&own, Millis(0))
        };
        assert_eq!(goes(2), [names[3], names[0]]);
        assert_eq!(goes(1), [names[3], names[4], names[0], names[1]]);
    }

    /// Its day does not exist, so nobody knows how old it is.
    #[test]
    fn a_name_that_is_no_time_stays() {
        let own = [
            (
                BackupKey::of("b_v1_2026-02-31-03:00:00", "b").unwrap(),
                "odd",
            ),
            (
                BackupKey::of("b_v2_2026-03-01-03:00:00", "b").unwrap(),
                "newest",
            ),
        ];
        let rules = Retention {
            last: Some(1),
            ..Retention::default()
        };
        assert!(rules.surplus(&own, Millis(0)).is_empty());
    }
}
