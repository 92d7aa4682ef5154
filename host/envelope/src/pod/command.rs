//! The command line of a member's etcd: a list of flags, each with the values it may have.
//!
//! A flag that is not listed is refused, and so is a pod without one of those that say where its data is and where it is
//! reached. What the environment holds is judged elsewhere.

use contract::{TlsRole, names};
use k8s_openapi::api::core::v1::Container;

use super::start::{CLUSTER_VARIABLE, STATE_VARIABLE};
use crate::Refusal;
use crate::address::Addresses;

/// Without one of these a default of etcd's would stand in its place: other data, or an address that nobody reaches.
const NEEDED: [&str; 7] = [
    "advertise-client-urls",
    "data-dir",
    "initial-advertise-peer-urls",
    "listen-client-urls",
    "listen-metrics-urls",
    "listen-peer-urls",
    "name",
];

/// The variable by which etcd would take the same setting.
pub(super) fn is_made(variable: &str) -> bool {
    variable.strip_prefix("ETCD_").is_some_and(|setting| {
        let flag = setting.to_ascii_lowercase().replace('_', "-");
        NEEDED.contains(&flag.as_str()) || flag == "initial-cluster-token"
    })
}

/// etcd with flags of the list; the annotations say how it starts on an empty disk. The token is that of the birth plan
/// which the action relies on.
pub(super) fn judge_command(
    pod: &str,
    container: &Container,
    addresses: Addresses<'_>,
    token: Option<&str>,
    refusals: &mut Vec<Refusal>,
) {
    let mut refuse = |what: String| {
        refusals.push(Refusal::Start {
            name: pod.to_owned(),
            what,
        });
    };
    let command = container.command.as_deref().unwrap_or_default();
    let arguments = container.args.iter().flatten();
    if let Some(program) = command.first()
        && !matches!(program.as_str(), "etcd" | "/usr/local/bin/etcd")
    {
        refuse(format!("the program {program:?}"));
    }
    let words: Vec<&str> = command
        .iter()
        .skip(1)
        .chain(arguments)
        .map(String::as_str)
        .collect();
    for word in &words {
        if !is_allowed(pod, word, addresses, token) {
            refuse(format!("the argument {word:?}"));
        }
    }
    let is_set = |flag: &&str| {
        let mut flags = words.iter().filter_map(|word| split(word));
        flags.any(|(found, _)| found == *flag)
    };
    for flag in NEEDED.iter().filter(|flag| !is_set(flag)) {
        refuse(format!("without --{flag}"));
    }
}

fn split(word: &str) -> Option<(&str, Option<&str>)> {
    let flag = word.strip_prefix("--")?;
    Some(
        flag.split_once('=')
            .map_or((flag, None), |(flag, value)| (flag, Some(value))),
    )
}

fn is_allowed(pod: &str, word: &str, addresses: Addresses<'_>, token: Option<&str>) -> bool {
    let Some((flag, value)) = split(word) else {
        return false;
    };
    let Some(value) = value else {
        return matches!(flag, "client-cert-auth" | "peer-client-cert-auth");
    };
    let listens = |port: i32| {
        let schemes = ["http", "https"];
        let mut urls = value.split(',');
        urls.all(|url| {
            schemes
                .map(|scheme| format!("{scheme}://0.0.0.0:{port}"))
                .contains(&url.to_owned())
        })
    };
    let (role, file) = flag
        .strip_prefix("peer-")
        .map_or((TlsRole::Server, flag), |file| (TlsRole::Peer, file));
    match flag {
        "name" => value == pod,
        "data-dir" => value == names::DATA_FOLDER,
        "initial-advertise-peer-urls" => value.split(',').all(|url| addresses.is_peer(pod, url)),
        "advertise-client-urls" => value
            .split(',')
            .all(|url| addresses.is_of(pod, url, names::CLIENT_PORT)),
        "listen-peer-urls" => listens(names::PEER_PORT),
        "listen-client-urls" => listens(names::CLIENT_PORT),
        "listen-metrics-urls" => value == format!("http://0.0.0.0:{}", names::METRICS_PORT),
        "initial-cluster-token" => token == Some(value),
        "initial-cluster-state" => value == format!("$({STATE_VARIABLE})"),
        "initial-cluster" => value == format!("$({CLUSTER_VARIABLE})"),
        _ => {
            matches!(file, "cert-file" | "key-file" | "trusted-ca-file") && is_in_place(role, value)
        }
    }
}

/// A file of the folder that the role's Secret is mounted at.
fn is_in_place(role: TlsRole, path: &str) -> bool {
    let file = role
        .mount()
        .and_then(|(_, folder)| path.strip_prefix(folder)?.strip_prefix('/'));
    file.is_some_and(|file| {
        !file.starts_with('.')
            && file
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_'))
    })
}
