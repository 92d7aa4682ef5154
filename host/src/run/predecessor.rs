//! The command line of the archived coreos etcd-operator: what becomes of each of its flags.
//!
//! Its flags have one dash. What still means something is taken over, what means nothing any more is said, and what
//! would do harm or is not served is refused in words.

use std::ffi::OsString;

/// Flags of the archived operators, as they were written.
const FLAGS: [&str; 6] = [
    "cluster-wide",
    "listen-addr",
    "create-crd",
    "gc-interval",
    "chaos-level",
    "version",
];

/// The flags of the archived operator that this one does not have, as given.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OldFlags {
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    cluster_wide: Option<bool>,

    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    create_crd: Option<bool>,

    #[arg(long, hide = true, value_name = "SPAN")]
    gc_interval: Option<String>,

    #[arg(long, hide = true, value_name = "LEVEL", allow_negative_numbers = true)]
    chaos_level: Option<i64>,
}

/// A flag that cannot be followed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    /// Members are not killed on purpose.
    #[error(
        "-chaos-level {0} is not served: this operator kills no member on purpose. Leave the flag out"
    )]
    Chaos(i64),
}

impl OldFlags {
    /// Whether all namespaces are asked for, with the clusters that the scope annotation names.
    pub(super) fn is_cluster_wide(&self) -> bool {
        self.cluster_wide == Some(true)
    }

    /// What is to be said of the flags that are accepted and do nothing, one sentence each.
    ///
    /// # Errors
    /// A flag that cannot be followed.
    pub(super) fn judge(self) -> Result<Vec<&'static str>, Error> {
        let Self {
            cluster_wide: _,
            create_crd,
            gc_interval,
            chaos_level,
        } = self;
        if let Some(level) = chaos_level.filter(|level| *level > 0) {
            return Err(Error::Chaos(level));
        }
        let create_crd = create_crd
            .map(|_| "-create-crd does nothing: the custom resource comes with the manifests");
        let gc_interval = gc_interval
            .map(|_| "-gc-interval does nothing: Kubernetes collects what a deleted cluster owns");
        Ok(create_crd.into_iter().chain(gc_interval).collect())
    }
}

/// Gives the old flags behind `run` the second dash that this command line wants.
pub(crate) fn with_two_dashes(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut is_run = false;
    words
        .map(|word| {
            let is_flag = is_run && word.to_str().is_some_and(is_old);
            is_run |= word == "run";
            if is_flag {
                let mut longer = OsString::from("-");
                longer.push(word);
                longer
            } else {
                word
            }
        })
        .collect()
}

fn is_old(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|flag| {
        let name = flag.split('=').next().unwrap_or(flag);
        FLAGS.contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::run::RunArgs;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    fn parse(words: &str) -> RunArgs {
        let words = format!("binnacle run {words}");
        let words = words.split_whitespace().map(OsString::from);
        let mut words = with_two_dashes(words);
        words.remove(0);
        Line::try_parse_from(words)
            .expect("the flags are known")
            .run
    }

    #[test]
    fn old_flags_are_read_as_they_were_written() {
        let run = parse(
            "-listen-addr=127.0.0.1:9090 -create-crd=false -gc-interval 10m -chaos-level -1 -cluster-wide=false",
        );
        assert_eq!(run.listen_addr.to_string(), "127.0.0.1:9090");
        assert_eq!(run.old.judge().map(|said| said.len()), Ok(2));
        let run = parse("-listen-addr 127.0.0.1:9090 -create-crd -gc-interval=10m -chaos-level=0");
        assert_eq!(run.listen_addr.to_string(), "127.0.0.1:9090");
        assert_eq!(run.old.judge().map(|said| said.len()), Ok(2));
        assert_eq!(parse("").old.judge().map(|said| said.len()), Ok(0));
    }

    #[test]
    fn all_namespaces_are_asked_for_as_before() {
        assert!(parse("-cluster-wide").old.is_cluster_wide());
        assert!(parse("-cluster-wide=true").old.is_cluster_wide());
        assert!(!parse("-cluster-wide=false").old.is_cluster_wide());
        assert!(!parse("").old.is_cluster_wide());
    }

    #[test]
    fn what_cannot_be_followed_is_refused_in_words() {
        let refused = parse("-chaos-level=2").old.judge();
        assert_eq!(refused, Err(Error::Chaos(2)));
    }

    #[test]
    fn only_flags_of_the_old_command_line_are_changed() {
        let words = ["binnacle", "-version", "run", "-v", "--log", "-version"];
        let read = with_two_dashes(words.iter().map(OsString::from));
        assert_eq!(
            read,
            ["binnacle", "-version", "run", "-v", "--log", "--version"]
        );
    }
}
