//! Operator Lifecycle Manager, its catalog server and its validators: what the suites `olm` and `packaging` need beyond every testbed's tools.
//!
//! Their modules may not be required by another (their list of versions is closed), so their sources are copied. The
//! SDK's own main package wants a plug-in that is not to be had; ours has the two commands that are used here.

use super::{Added, Source, Tool, program};

/// The tools, in the order of their building; the first makes the most that the others use again.
pub(super) static TABLE: [Tool; 7] = [
    Tool {
        name: "olm",
        version: "0.46.0",
        source: Source::Copied {
            module: "github.com/operator-framework/operator-lifecycle-manager",
            version: "v0.46.0",
            tags: "",
            added: None,
            kept: Some("deploy/chart/crds"),
        },
        programs: &[
            program("olm", "./cmd/olm"),
            program("catalog", "./cmd/catalog"),
            program("copy-content", "./cmd/copy-content"),
            program("cpb", "./util/cpb"),
        ],
    },
    Tool {
        name: "opm",
        version: "1.73.0",
        source: Source::Copied {
            module: "github.com/operator-framework/operator-registry",
            version: "v1.73.0",
            // Signatures are not looked at; the other implementation needs a C library.
            tags: "containers_image_openpgp",
            added: None,
            kept: None,
        },
        programs: &[program("opm", "./cmd/opm")],
    },
    Tool {
        name: "operator-verify",
        version: "0.45.0",
        source: Source::Copied {
            module: "github.com/operator-framework/api",
            version: "v0.45.0",
            tags: "",
            added: None,
            kept: None,
        },
        programs: &[program("operator-verify", "./cmd/operator-verify")],
    },
    Tool {
        name: "operator-sdk",
        version: "1.42.3",
        source: Source::Copied {
            module: "github.com/operator-framework/operator-sdk",
            version: "v1.42.3",
            tags: "containers_image_openpgp",
            added: Some(Added {
                from: "operator-sdk/main.go",
                to: "cmd/bundle-only/main.go",
            }),
            kept: None,
        },
        programs: &[
            program("operator-sdk", "./cmd/bundle-only"),
            program("scorecard-test", "./images/scorecard-test"),
        ],
    },
    Tool {
        // What OLM v1 judges a newer definition by.
        name: "crdify",
        version: "0.5.0",
        source: Source::Copied {
            module: "sigs.k8s.io/crdify",
            version: "v0.5.0",
            tags: "",
            added: None,
            kept: None,
        },
        programs: &[program("crdify", ".")],
    },
    Tool {
        name: "registry",
        version: "3.0.0",
        source: Source::Copied {
            module: "github.com/distribution/distribution/v3",
            version: "v3.0.0",
            tags: "",
            added: None,
            kept: None,
        },
        programs: &[program("registry", "./cmd/registry")],
    },
    Tool {
        name: "grpc-health-probe",
        version: "0.4.41",
        source: Source::Copied {
            module: "github.com/grpc-ecosystem/grpc-health-probe",
            version: "v0.4.41",
            tags: "",
            added: None,
            kept: None,
        },
        programs: &[program("grpc-health-probe", ".")],
    },
];
