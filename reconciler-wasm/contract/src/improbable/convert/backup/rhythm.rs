//! When backups are taken: one line of text there, three fields here.

use super::super::{Carried, NotCarried, left};
use crate::{BackupPolicy, EtcdBackupSpec};

const FIELD: &str = "spec.schedule";
const EVERY: &str = "@every ";
/// Puts a schedule's line into the policy.
///
/// # Errors
/// It cannot be read.
pub(super) fn read(line: &str, carried: &mut Carried<EtcdBackupSpec>) -> Result<(), NotCarried> {
    let line = line.trim();
    if line.is_empty() {
        return Err(left(FIELD, "it is missing. Say when backups are taken"));
    }
    let policy = carried.spec.backup_policy.get_or_insert_default();
    for (field, is_set) in [
        (
            "backupIntervalInSecond",
            policy.backup_interval_in_second.is_some(),
        ),
        ("schedule", policy.schedule.is_some()),
    ] {
        if is_set {
            return Err(left(
                &format!("spec.backupTemplate.backupPolicy.{field}"),
                "spec.schedule says when backups are taken. Take it out",
            ));
        }
    }
    let (zone, times) = zone_of(line);
    if let Some(span) = times.strip_prefix(EVERY) {
        let seconds = seconds(span.trim()).filter(|seconds| *seconds > 0);
        let seconds = seconds.ok_or_else(|| {
            left(
                FIELD,
                format!("{line:?} has no span of a second or more. Write it like @every 1h30m"),
            )
        })?;
        policy.backup_interval_in_second = Some(seconds);
        return Ok(());
    }
    let fields: Vec<&str> = times.split_whitespace().collect();
    let is_name = matches!(fields.as_slice(), [name] if name.starts_with('@'));
    if fields.len() != 5 && !is_name {
        return Err(left(
            FIELD,
            format!(
                "{line:?} is not five fields as crontab has them, nor a name such as @hourly, nor @every and a span"
            ),
        ));
    }
    let fields: Vec<&str> = fields
        .into_iter()
        .map(|field| if field == "?" { "*" } else { field })
        .collect();
    policy.schedule = Some(fields.join(" "));
    match zone {
        None => carried.left.push(left(
            FIELD,
            "the times are of the operator's own zone there, and of UTC here. Set spec.backupPolicy.timeZone for another",
        )),
        Some("UTC") => {}
        Some(zone) => policy.time_zone = Some(zone.to_owned()),
    }
    Ok(())
}

/// The schedule's line of a periodic backup.
///
/// # Errors
/// It has no times of its own.
pub(super) fn spell(spec: &EtcdBackupSpec) -> Result<String, NotCarried> {
    match (spec.interval(), spec.schedule()) {
        (Some(_), Some(_)) => Err(left(
            "spec.backupPolicy",
            "it has both backupIntervalInSecond and schedule. Keep one of them",
        )),
        (Some(seconds), None) => Ok(format!("{EVERY}{}", span(seconds))),
        (None, Some(schedule)) => {
            let policy = spec.backup_policy.as_ref();
            let zone = policy.and_then(|policy| policy.time_zone.as_deref());
            let zone = zone.filter(|zone| !zone.is_empty()).unwrap_or("UTC");
            Ok(format!("CRON_TZ={zone} {schedule}"))
        }
        (None, None) => Err(left(
            "spec.backupPolicy.before",
            "backups that are taken before risky acts alone have no times, which a schedule must have there",
        )),
    }
}

/// The policy without what the schedule's line says.
pub(super) fn taken_out(mut policy: BackupPolicy) -> BackupPolicy {
    let has_times = policy.schedule.take().is_some_and(|text| !text.is_empty());
    if has_times {
        policy.time_zone = None;
    }
    policy.backup_interval_in_second = None;
    policy
}

/// The zone in front of a line, and what follows it.
fn zone_of(line: &str) -> (Option<&str>, &str) {
    let named = line
        .strip_prefix("CRON_TZ=")
        .or_else(|| line.strip_prefix("TZ="));
    match named.and_then(|named| named.split_once(' ')) {
        Some((zone, times)) => (Some(zone), times.trim()),
        None => (None, line),
    }
}

/// Whole seconds of a span as Go spells it: `1h30m`, `90s`, `1.5h`.
fn seconds(span: &str) -> Option<i64> {
    let mut millis = 0_i64;
    let mut rest = span;
    while !rest.is_empty() {
        let unit_at = rest.find(|mark: char| !mark.is_ascii_digit() && mark != '.')?;
        let (number, after) = rest.split_at(unit_at);
        let unit_ends = after
            .find(|mark: char| mark.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_ends);
        let factor = match unit {
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1000,
            "ms" => 1,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let scale = 10_i64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let number: i64 = format!("{whole}{fraction}").parse().ok()?;
        millis = millis.checked_add(number.checked_mul(factor)? / scale)?;
        rest = after;
    }
    Some(millis / 1000)
}

/// Seconds as Go spells them.
fn span(seconds: i64) -> String {
    let parts = [
        (seconds / 3600, 'h'),
        (seconds % 3600 / 60, 'm'),
        (seconds % 60, 's'),
    ];
    parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_go_spells_them() {
        for (text, wanted) in [
            ("1h30m", Some(5400)),
            ("90s", Some(90)),
            ("1.5h", Some(5400)),
            ("500ms", Some(0)),
            ("1500ms", Some(1)),
            ("24h", Some(86400)),
            ("10", None),
            ("1d", None),
            ("99999999999999999999h", None),
            ("é", None),
        ] {
            assert_eq!(seconds(text), wanted, "{text}");
        }
        for seconds_ in [1, 59, 60, 3600, 5400, 86_399] {
            assert_eq!(seconds(&span(seconds_)), Some(seconds_));
        }
    }
}
