//! The programs that a testbed is made of, and where each comes from.
//!
//! Says what; [`build`] says how. Each is built once a version, outside the checkout, when it is first asked for. Another
//! tool is one more entry of the table.

mod build;
mod olm;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::layout::cache_home;
use super::progress::Progress;

/// A set of programs of one version.
#[derive(Debug)]
pub struct Tool {
    name: &'static str,
    version: &'static str,
    source: Source,
    programs: &'static [Program],
}

/// Where the sources of a tool are.
#[derive(Debug)]
enum Source {
    /// A module of ours under `tests/tools/` that pins the tool and all it needs.
    Pinned {
        folder: &'static str,
        stamp: &'static str,
    },
    /// A module that no other may require, or whose own `go.mod` is best left alone; its sources are copied and built in
    /// place.
    Copied {
        module: &'static str,
        version: &'static str,
        tags: &'static str,
        added: Option<Added>,
        /// A folder of the sources that stays beside the programs.
        kept: Option<&'static str>,
    },
    /// A package of npm, with all it needs.
    Npm { package: &'static str },
    /// A C program of ours under `tests/tools/`, linked statically.
    C { file: &'static str },
}

/// A file of ours under `tests/tools/` that is put into copied sources.
#[derive(Debug)]
struct Added {
    from: &'static str,
    to: &'static str,
}

/// A program of a tool.
#[derive(Debug)]
struct Program {
    name: &'static str,
    package: &'static str,
}

const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package }
}

const KUBERNETES_STAMP: &str = "-X k8s.io/component-base/version.gitVersion=v1.36.3 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36 \
     -X k8s.io/component-base/version.gitTreeState=clean";

const ETCD: &[Program] = &[
    program("etcd", "go.etcd.io/etcd/server/v3"),
    program("etcdctl", "go.etcd.io/etcd/etcdctl/v3"),
    program("etcdutl", "go.etcd.io/etcd/etcdutl/v3"),
];

const fn etcd(version: &'static str, folder: &'static str) -> Tool {
    Tool {
        name: "etcd",
        version,
        source: Source::Pinned { folder, stamp: "" },
        programs: ETCD,
    }
}

static TABLE: &[Tool] = &[
    Tool {
        name: "kubernetes",
        version: "1.36.3",
        source: Source::Pinned {
            folder: "kubernetes",
            stamp: KUBERNETES_STAMP,
        },
        programs: &[
            program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            program(
                "kube-controller-manager",
                "k8s.io/kubernetes/cmd/kube-controller-manager",
            ),
            program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            program("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
            program("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
            program("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
        ],
    },
    etcd("3.6.16", "etcd-3.6.16"),
    etcd("3.5.35", "etcd-3.5.35"),
    etcd("3.7.3", "etcd-3.7.3"),
    Tool {
        name: "etcd",
        version: "3.4.34",
        source: Source::Copied {
            module: "go.etcd.io/etcd",
            version: "v0.0.0-20240911181550-c123b3ea3db3",
            tags: "",
            added: None,
            kept: None,
        },
        programs: &[program("etcd", "."), program("etcdctl", "./etcdctl")],
    },
    Tool {
        name: "coredns",
        version: "1.13.1",
        source: Source::Pinned {
            folder: "coredns-1.13.1",
            stamp: "",
        },
        programs: &[program("coredns", "github.com/coredns/coredns")],
    },
    Tool {
        name: "fake-gcs-server",
        version: "1.56.1",
        source: Source::Pinned {
            folder: "fake-gcs-server",
            stamp: "",
        },
        programs: &[program(
            "fake-gcs-server",
            "github.com/fsouza/fake-gcs-server",
        )],
    },
    Tool {
        name: "oss-sign",
        version: "3.0.2",
        source: Source::Pinned {
            folder: "oss-sign",
            stamp: "",
        },
        programs: &[program("oss-sign", ".")],
    },
    Tool {
        name: "azurite",
        version: "3.35.0",
        source: Source::Npm { package: "azurite" },
        programs: &[program("node_modules/.bin/azurite-blob", "")],
    },
    Tool {
        name: "minio",
        version: "0.0.0-20260212201848-7aac2a2c5b7c",
        source: Source::Pinned {
            folder: "minio",
            stamp: "",
        },
        programs: &[program("minio", "github.com/minio/minio")],
    },
    Tool {
        name: "helm",
        version: "3.19.0",
        source: Source::Copied {
            module: "helm.sh/helm/v3",
            version: "v3.19.0",
            tags: "",
            added: None,
            kept: None,
        },
        programs: &[program("helm", "./cmd/helm")],
    },
    Tool {
        name: "pause",
        version: "1",
        source: Source::C {
            file: "pause/pause.c",
        },
        programs: &[program("pause", "")],
    },
];

/// Every tool that can be built.
fn table() -> impl Iterator<Item = &'static Tool> {
    TABLE.iter().chain(&olm::TABLE)
}

/// The tools that every testbed needs.
const NEEDED: [(&str, &str); 4] = [
    ("kubernetes", "1.36.3"),
    ("etcd", ETCD_VERSION),
    ("coredns", "1.13.1"),
    ("pause", "1"),
];

/// The etcd that the control plane stores in and whose image is always there.
pub const ETCD_VERSION: &str = "3.6.16";

impl Tool {
    /// The tool `name` of `version`, if the table has it.
    pub fn find(name: &str, version: &str) -> Result<&'static Self> {
        let found = table().find(|tool| tool.name == name && tool.version == version);
        match found {
            Some(tool) => Ok(tool),
            None => bail!(
                "there is no tool {name} {version}; there are: {}",
                Self::all()
            ),
        }
    }

    /// The tools that every testbed needs.
    pub fn needed() -> Result<Vec<&'static Self>> {
        NEEDED
            .iter()
            .map(|(name, version)| Self::find(name, version))
            .collect()
    }

    /// The tool of an argument as `etcd-3.5.35`.
    pub fn parse(text: &str) -> Result<&'static Self> {
        let found = table().find(|tool| tool.title() == text);
        found.with_context(|| format!("there is no tool {text}; there are: {}", Self::all()))
    }

    /// All tools, for a message.
    pub fn all() -> String {
        table().map(Self::title).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn title(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// The folder that holds, or will hold, its programs.
    pub fn folder(&self) -> Result<PathBuf> {
        Ok(cache_home()?.join("tools").join(self.title()))
    }

    /// Builds it unless that was done before, and answers the folder of its programs.
    pub async fn ensure(&self, progress: &Progress) -> Result<PathBuf> {
        build::ensure(self, progress)
            .await
            .with_context(|| format!("{} could not be built", self.title()))
    }
}

/// Where a program lies that a running testbed was made of.
pub(crate) fn built(tool: &str, version: &str, program: &str) -> Result<PathBuf> {
    Ok(Tool::find(tool, version)?.folder()?.join(program))
}

/// A program of Kubernetes.
pub(crate) fn kubernetes(program: &str) -> Result<PathBuf> {
    built("kubernetes", "1.36.3", program)
}

/// A program of the etcd of [`ETCD_VERSION`].
pub(crate) fn etcd_program(program: &str) -> Result<PathBuf> {
    built("etcd", ETCD_VERSION, program)
}

#[cfg(test)]
mod tests {
    use super::{Source, Tool, table};

    /// A name in the table that leads nowhere would show itself only after minutes of building.
    #[test]
    fn every_pinned_module_is_in_the_checkout_with_the_version_that_the_table_says() {
        for tool in table() {
            if let Source::Pinned { folder, stamp: _ } = &tool.source {
                let module = format!("{}/tools/{folder}/go.mod", env!("CARGO_MANIFEST_DIR"));
                let module = std::fs::read_to_string(&module).unwrap_or_default();
                assert!(
                    module.contains(&format!("v{}", tool.version)),
                    "{folder} does not pin {}",
                    tool.version
                );
            }
        }
    }

    #[test]
    fn a_tool_is_found_by_its_title() {
        for tool in table() {
            assert_eq!(
                Tool::parse(&tool.title()).map(Tool::title).ok(),
                Some(tool.title())
            );
        }
        assert!(Tool::parse("etcd-0.1").is_err());
    }
}
