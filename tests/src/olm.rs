//! Operator Lifecycle Manager on the testbed, as its project ships it: two operators as pods, a catalog, and the objects
//! that a user writes.
//!
//! Knows nothing of what is installed with it.

mod publication;
pub mod releases;
mod subscriber;

use std::time::Duration;

use anyhow::{Context, Result};

use crate::kubectl::Kubectl;
use crate::testbed::tools::Tool;
use crate::testbed::{Progress, Testbed, images};

pub use publication::Publication;
pub use releases::{DEPRECATED, NEWER_FIELD, Published, Releases};
pub use subscriber::{Approval, CPU, Subscriber};

/// Where OLM runs; its catalogs serve every namespace.
pub const NAMESPACE: &str = "olm";
/// The catalog's name.
pub const CATALOG: &str = "binnacle";
/// The name of a catalog in which a release never starts.
pub const FAILING_CATALOG: &str = "binnacle-failing";

/// The name of a catalog that gets more releases while somebody subscribes to it.
pub const GROWING_CATALOG: &str = "binnacle-growing";

const OBJECTS: &str = include_str!("olm/objects.yaml");
/// How long OLM may take to start, on a machine that does much else.
const START: &str = "--timeout=180s";

/// Installs OLM unless that was done before, and waits until it runs.
pub async fn install(testbed: &Testbed, kubectl: &Kubectl, progress: &Progress) -> Result<()> {
    let olm = Tool::parse("olm-0.46.0")?.ensure(progress).await?;
    for archive in [
        images::olm::olm(progress).await?,
        images::olm::opm(progress).await?,
    ] {
        testbed.load_image(&archive).await?;
    }
    let definitions = olm.join("crds");
    let definitions = definitions
        .to_str()
        .context("the cache's path is no text")?;
    // Client-side apply would not take the largest of them.
    let apply = ["apply", "--server-side", "--force-conflicts", "--filename"];
    kubectl.run(&[&apply[..], &[definitions]].concat()).await?;
    kubectl
        .run(&[
            "wait",
            "--for=condition=Established",
            START,
            "--filename",
            definitions,
        ])
        .await?;
    let objects = OBJECTS
        .replace("OLM_IMAGE", images::olm::OLM)
        .replace("OPM_IMAGE", images::olm::OPM);
    kubectl
        .run_with_input(&[&apply[..], &["-"]].concat(), &objects)
        .await?;
    for operator in ["olm-operator", "catalog-operator"] {
        kubectl
            .run(&[
                "--namespace",
                NAMESPACE,
                "rollout",
                "status",
                START,
                &format!("deployment/{operator}"),
            ])
            .await?;
    }
    Ok(())
}

/// Makes this image the catalog of that name, in place of the one before, and waits until it serves.
pub async fn serve(kubectl: &Kubectl, catalog: &str, image: &str) -> Result<()> {
    let shown = [
        "--namespace",
        NAMESPACE,
        "get",
        "catalogsource",
        catalog,
        "--ignore-not-found",
    ];
    let before = kubectl
        .run(&[&shown[..], &["--output", "jsonpath={.spec.image}"]].concat())
        .await?;
    if !before.is_empty() && before != image {
        // Its status would speak of the old pod until the new one serves, and OLM would install from that.
        kubectl
            .run(&["--namespace", NAMESPACE, "delete", "catalogsource", catalog])
            .await?;
        let label = format!("olm.catalogSource={catalog}");
        kubectl
            .run(&[
                "--namespace",
                NAMESPACE,
                "wait",
                "--for=delete",
                START,
                "pods",
                "--selector",
                &label,
            ])
            .await?;
    }
    let source = serde_json::json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": catalog, "namespace": NAMESPACE},
        "spec": {
            "sourceType": "grpc",
            "image": image,
            "displayName": "Binnacle",
            "grpcPodConfig": {"securityContextConfig": "restricted"},
        },
    });
    kubectl
        .run_with_input(
            &[
                "apply",
                "--server-side",
                "--force-conflicts",
                "--filename",
                "-",
            ],
            &source.to_string(),
        )
        .await?;
    crate::testbed::wait::until(
        "the catalog being served",
        Duration::from_secs(180),
        async || {
            let seen = kubectl
                .run(&[
                    "--namespace",
                    NAMESPACE,
                    "get",
                    "catalogsource",
                    catalog,
                    "--output",
                    "jsonpath={.status.connectionState.lastObservedState}",
                ])
                .await?;
            anyhow::ensure!(seen == "READY", "its state is `{seen}`");
            Ok(())
        },
    )
    .await
}
