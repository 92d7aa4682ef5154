//! The images of Operator Lifecycle Manager and of a catalog, from the programs that the tools' table names.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Aside, Copied, cached, debian, push};
use crate::testbed::progress::Progress;
use crate::testbed::tools::Tool;

/// The image of OLM's two operators; it also has the tools that unpack Jobs copy out of it.
pub const OLM: &str = "testbed.binnacle/olm:0.46.0";
/// The image that reads bundles and serves catalogs.
pub const OPM: &str = "testbed.binnacle/opm:1.73.0";

/// The image that bundles name for the SDK's own tests. This one can also unpack the bundle that a pod of them reads.
pub const SCORECARD: &str = "quay.io/operator-framework/scorecard-test:v1.42.3";

/// A user that is nobody's.
const AS_NOBODY: &str = "ENV PATH=/bin\nUSER 65532:65532\n";

/// The archive of [`OLM`].
pub async fn olm(progress: &Progress) -> Result<PathBuf> {
    let programs = Tool::parse("olm-0.46.0")?.ensure(progress).await?;
    // The unpack Job copies its tool out of this image by `/bin/cp`.
    let busybox = debian("busybox-static", &["busybox-static"], progress)
        .await?
        .join("bin/busybox");
    let [olm, catalog, cpb] = ["olm", "catalog", "cpb"].map(|program| programs.join(program));
    let copied: [Copied<'_>; 4] = [
        (&olm, "/bin/olm"),
        (&catalog, "/bin/catalog"),
        (&cpb, "/bin/cpb"),
        (&busybox, "/bin/cp"),
    ];
    cached("olm-0.46.0", OLM, &copied, AS_NOBODY, progress).await
}

/// The archive of [`OPM`].
pub async fn opm(progress: &Progress) -> Result<PathBuf> {
    let aside = Aside::make("opm")?;
    let parts = serving(&aside, progress).await?;
    cached("opm-1.73.0", OPM, &copied(&parts), AS_NOBODY, progress).await
}

/// The archive of [`SCORECARD`].
pub async fn scorecard(progress: &Progress) -> Result<PathBuf> {
    let tests = Tool::parse("operator-sdk-1.42.3")?
        .ensure(progress)
        .await?
        .join("scorecard-test");
    let busybox = debian("busybox-static", &["busybox-static"], progress)
        .await?
        .join("bin/busybox");
    let copied: [Copied<'_>; 2] = [(&tests, "/bin/scorecard-test"), (&busybox, "/bin/tar")];
    cached("scorecard-1.42.3", SCORECARD, &copied, AS_NOBODY, progress).await
}

/// Builds a catalog's image into a registry, under `to`: opm, serving the folder `configs`. Answers its digest there.
pub(crate) async fn push_catalog(to: &str, configs: &Path, progress: &Progress) -> Result<String> {
    let aside = Aside::make("catalog")?;
    let parts = serving(&aside, progress).await?;
    let mut copied = copied(&parts);
    copied.push((configs, "/configs"));
    let settings = format!(
        "{AS_NOBODY}ENTRYPOINT [\"/bin/opm\"]\nCMD [\"serve\", \"/configs\", \"--cache-dir=/tmp/cache\", \"--cache-enforce-integrity=false\"]\n"
    );
    push(to, &copied, &settings).await
}

/// opm, the probe that OLM calls, and a `/tmp` that anybody may write into.
async fn serving(aside: &Aside, progress: &Progress) -> Result<[(PathBuf, &'static str); 3]> {
    let opm = Tool::parse("opm-1.73.0")?
        .ensure(progress)
        .await?
        .join("opm");
    let probe = Tool::parse("grpc-health-probe-0.4.41")?
        .ensure(progress)
        .await?
        .join("grpc-health-probe");
    let root = aside.0.join("root");
    fs::create_dir_all(root.join("tmp"))?;
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o777))?;
    Ok([
        (root, "/"),
        (opm, "/bin/opm"),
        (probe, "/bin/grpc_health_probe"),
    ])
}

fn copied<'a>(parts: &'a [(PathBuf, &'static str)]) -> Vec<Copied<'a>> {
    parts
        .iter()
        .map(|(from, to)| (from.as_path(), *to))
        .collect()
}
