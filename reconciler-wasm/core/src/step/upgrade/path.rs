//! The way from one etcd version to another: which versions all members must run in between.
//!
//! Knows etcd's rules (<https://etcd.io/docs/latest/upgrades/>) and no cluster.

use std::fmt;

use semver::Version;

/// The newest patch of each minor version that this operator knows of: where a longer way stops over.
const NEWEST: [Version; 4] = [
    Version::new(3, 4, 34),
    Version::new(3, 5, 35),
    Version::new(3, 6, 16),
    Version::new(3, 7, 3),
];
/// Before 3.6: older 3.5 keep promotions and removals in a store that 3.6 does not read, so that learners and removed
/// members come back (<https://github.com/etcd-io/etcd/issues/19557>).
const BEFORE_3_6: Version = Version::new(3, 5, 26);
/// Before 3.7, which has no v2 store at all.
const BEFORE_3_7: Version = Version::new(3, 6, 11);
/// The last of the versions that lose data when a member crashes under load
/// (<https://github.com/etcd-io/etcd/issues/13766>).
const LAST_INCONSISTENT: Version = Version::new(3, 5, 2);
/// The oldest minor version that etcd's own procedure takes a cluster back to
/// (<https://etcd.io/docs/v3.6/downgrades/>).
const OLDEST_TO_RETURN_TO: u64 = 5;

/// How members get to the asked version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// All members are moved to each of these versions in turn; the last one is the asked one.
    Forward(Vec<Version>),
    /// Members that were moved already return, because the cluster as a whole has not taken on their version.
    Back(Version),
    /// The cluster as a whole goes back by one minor version, by etcd's own procedure.
    Down(Version),
}

/// Why there is no way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoWay {
    /// The asked version loses data.
    Inconsistent {
        /// The newest patch of the same minor version.
        newest: Version,
    },
    /// The data was written by a newer minor version, and no procedure leads back.
    OlderThanData {
        /// The lowest version that runs.
        running: Version,
    },
    /// There is a way back, and another version comes before it on that way, or in its place.
    OtherFirst {
        /// That version.
        first: Version,
    },
}

impl fmt::Display for NoWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inconsistent { newest } => write!(
                f,
                "it can lose data when a member crashes. Set spec.version to {newest} instead"
            ),
            Self::OlderThanData { running } => write!(
                f,
                "the members' data is that of etcd {running}, which an older minor version does not read. Set \
                 spec.version back to {running}"
            ),
            Self::OtherFirst { first } => write!(
                f,
                "etcd goes back by one minor version at a time, from members that all run the same one, and to a patch \
                 that reads what the newer one leaves. Set spec.version to {first} first"
            ),
        }
    }
}

/// The way from members of which the lowest and the highest version are known to `asked`.
pub(crate) fn way(lowest: &Version, highest: &Version, asked: &Version) -> Result<Way, NoWay> {
    if is_inconsistent(asked) && lowest != asked {
        return Err(NoWay::Inconsistent {
            newest: newest_of(asked.minor).unwrap_or_else(|| asked.clone()),
        });
    }
    if asked.minor < lowest.minor {
        return way_down(lowest, highest, asked);
    }
    if asked.minor == lowest.minor && asked.minor < highest.minor {
        return Ok(Way::Back(asked.clone()));
    }
    Ok(Way::Forward(stages(lowest, asked)))
}

fn way_down(lowest: &Version, highest: &Version, asked: &Version) -> Result<Way, NoWay> {
    let other_first = |first: Option<Version>| {
        let first = first.unwrap_or_else(|| lowest.clone());
        Err(NoWay::OtherFirst { first })
    };
    if asked.minor < OLDEST_TO_RETURN_TO {
        return Err(NoWay::OlderThanData {
            running: lowest.clone(),
        });
    }
    if highest.minor != lowest.minor {
        return other_first(None);
    }
    if asked.minor + 1 < lowest.minor {
        return other_first(newest_of(lowest.minor - 1));
    }
    if floor_to_leave(asked.minor).is_some_and(|floor| *asked < floor) {
        return other_first(newest_of(asked.minor));
    }
    Ok(Way::Down(asked.clone()))
}

/// Whether the version may lose data by itself.
pub(crate) fn is_inconsistent(version: &Version) -> bool {
    *version >= Version::new(3, 5, 0) && *version <= LAST_INCONSISTENT
}

fn stages(lowest: &Version, asked: &Version) -> Vec<Version> {
    let mut stages = Vec::new();
    let mut at = lowest.clone();
    while at.minor < asked.minor {
        if let (Some(floor), Some(newest)) = (floor_to_leave(at.minor), newest_of(at.minor))
            && at < floor
        {
            stages.push(newest);
        }
        let next = if at.minor + 1 == asked.minor {
            asked.clone()
        } else {
            newest_of(at.minor + 1).unwrap_or_else(|| asked.clone())
        };
        stages.push(next.clone());
        at = next;
    }
    if stages.is_empty() {
        stages.push(asked.clone());
    }
    stages
}

/// The lowest patch that every member must run before the next minor version, and that one is gone back to.
fn floor_to_leave(minor: u64) -> Option<Version> {
    match minor {
        5 => Some(BEFORE_3_6),
        6 => Some(BEFORE_3_7),
        _ => None,
    }
}

fn newest_of(minor: u64) -> Option<Version> {
    NEWEST.into_iter().find(|version| version.minor == minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).expect("a version")
    }

    fn words(lowest: &str, highest: &str, asked: &str) -> String {
        match way(&version(lowest), &version(highest), &version(asked)) {
            Ok(Way::Forward(stages)) => {
                let stages: Vec<String> = stages.iter().map(ToString::to_string).collect();
                stages.join(" ")
            }
            Ok(Way::Back(version)) => format!("back {version}"),
            Ok(Way::Down(version)) => format!("down {version}"),
            Err(NoWay::Inconsistent { .. }) => "inconsistent".to_owned(),
            Err(NoWay::OlderThanData { .. }) => "older".to_owned(),
            Err(NoWay::OtherFirst { first }) => format!("{first} first"),
        }
    }

    #[test]
    fn patches_change_freely_within_a_minor_version() {
        assert_eq!(words("3.6.16", "3.6.16", "3.6.20"), "3.6.20");
        assert_eq!(words("3.6.16", "3.6.16", "3.6.11"), "3.6.11");
        assert_eq!(words("3.5.20", "3.5.35", "3.5.35"), "3.5.35");
    }

    #[test]
    fn minor_versions_change_one_at_a_time() {
        assert_eq!(words("3.5.35", "3.5.35", "3.6.16"), "3.6.16");
        assert_eq!(words("3.4.34", "3.4.34", "3.6.12"), "3.5.35 3.6.12");
        assert_eq!(words("3.4.34", "3.4.34", "3.7.3"), "3.5.35 3.6.16 3.7.3");
        assert_eq!(words("3.5.35", "3.6.16", "3.7.3"), "3.6.16 3.7.3");
    }

    /// <https://github.com/etcd-io/etcd/issues/19557>: the first rule, 3.5.20, was not enough.
    #[test]
    fn an_old_patch_is_left_behind_before_the_next_minor_version() {
        assert_eq!(words("3.5.18", "3.5.35", "3.6.16"), "3.5.35 3.6.16");
        assert_eq!(words("3.5.25", "3.5.25", "3.6.16"), "3.5.35 3.6.16");
        assert_eq!(words("3.5.26", "3.5.26", "3.6.16"), "3.6.16");
        assert_eq!(words("3.6.10", "3.6.10", "3.7.0"), "3.6.16 3.7.0");
        assert_eq!(words("3.6.11", "3.6.11", "3.7.0"), "3.7.0");
    }

    #[test]
    fn members_return_while_one_of_them_keeps_the_cluster_at_the_old_version() {
        assert_eq!(words("3.5.35", "3.6.16", "3.5.35"), "back 3.5.35");
        assert_eq!(words("3.5.35", "3.5.35", "3.4.34"), "older");
    }

    /// Only 3.6 and newer know how to leave what an older version can read.
    #[test]
    fn a_whole_cluster_goes_back_by_one_minor_version_at_a_time() {
        assert_eq!(words("3.6.16", "3.6.16", "3.5.35"), "down 3.5.35");
        assert_eq!(words("3.7.3", "3.7.3", "3.6.11"), "down 3.6.11");
        assert_eq!(words("3.6.16", "3.6.16", "3.5.25"), "3.5.35 first");
        assert_eq!(words("3.7.3", "3.7.3", "3.5.35"), "3.6.16 first");
        assert_eq!(words("3.6.16", "3.7.3", "3.5.35"), "3.6.16 first");
        assert_eq!(words("3.6.16", "3.6.16", "3.4.34"), "older");
    }

    #[test]
    fn versions_that_lose_data_are_not_gone_to() {
        for patch in ["3.5.0", "3.5.1", "3.5.2"] {
            assert_eq!(words("3.4.34", "3.4.34", patch), "inconsistent");
        }
        assert_eq!(words("3.4.34", "3.4.34", "3.5.3"), "3.5.3");
        assert_eq!(words("3.5.1", "3.5.1", "3.5.1"), "3.5.1");
    }
}
