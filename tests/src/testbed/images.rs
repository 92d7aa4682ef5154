//! Builds container images without a base image and without a registry: programs, copied into nothing.
//!
//! An image is a docker archive in the cache. How it gets into the nodes is [`super::node`]'s business.

pub mod olm;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::command::Command;
use super::layout::cache_home;
use super::progress::Progress;
use super::tools::Tool;

/// The name of the image that holds a pod's namespaces.
pub(crate) const PAUSE: &str = "testbed.binnacle/pause:1";

/// The name of the image of the cluster's name server.
pub(crate) const COREDNS: &str = "testbed.binnacle/coredns:1.13.1";

/// Debian packages that the operator's image stands on.
const OPERATOR_BASE: [&str; 3] = ["libc6", "libgcc-s1", "ca-certificates"];

const OPERATOR_SETTINGS: &str = "USER 65532:65532\nENTRYPOINT [\"/usr/local/bin/binnacle\"]\n";

/// A file of an image: where it comes from and where it goes.
pub(crate) type Copied<'a> = (&'a Path, &'a str);

/// The archive of the image under which official manifests name etcd `version`, which holds no shell either.
pub async fn etcd(version: &str, progress: &Progress) -> Result<PathBuf> {
    let programs = Tool::find("etcd", version)?.ensure(progress).await?;
    let copied: Vec<_> = ["etcd", "etcdctl", "etcdutl"]
        .into_iter()
        .filter(|program| programs.join(program).exists())
        .map(|program| (programs.join(program), format!("/usr/local/bin/{program}")))
        .collect();
    let copied: Vec<Copied<'_>> = copied
        .iter()
        .map(|(from, to)| (from.as_path(), to.as_str()))
        .collect();
    let settings = "EXPOSE 2379 2380\nCMD [\"/usr/local/bin/etcd\"]\n";
    cached(
        &format!("etcd-{version}"),
        &format!("quay.io/coreos/etcd:v{version}"),
        &copied,
        settings,
        progress,
    )
    .await
}

/// The archive of an image with etcd `version` and a shell, as official ones were before 3.5.7. Its repository is
/// `testbed.binnacle/etcd-with-shell`.
pub async fn etcd_with_shell(version: &str, progress: &Progress) -> Result<PathBuf> {
    let programs = Tool::find("etcd", version)?.ensure(progress).await?;
    let (etcd, etcdctl) = (programs.join("etcd"), programs.join("etcdctl"));
    let busybox = debian("busybox-static", &["busybox-static"], progress)
        .await?
        .join("bin/busybox");
    let busybox = busybox.as_path();
    cached(
        &format!("etcd-with-shell-{version}"),
        &format!("testbed.binnacle/etcd-with-shell:v{version}"),
        &[
            (&etcd, "/usr/local/bin/etcd"),
            (&etcdctl, "/usr/local/bin/etcdctl"),
            (busybox, "/bin/sh"),
            (busybox, "/bin/nslookup"),
            (busybox, "/bin/sleep"),
        ],
        "ENV PATH=/usr/local/bin:/bin\nCMD [\"/usr/local/bin/etcd\"]\n",
        progress,
    )
    .await
}

pub(crate) async fn pause(progress: &Progress) -> Result<PathBuf> {
    let program = Tool::find("pause", "1")?
        .ensure(progress)
        .await?
        .join("pause");
    let settings = "USER 65535:65535\nENTRYPOINT [\"/pause\"]\n";
    cached(
        "pause-1",
        PAUSE,
        &[(program.as_path(), "/pause")],
        settings,
        progress,
    )
    .await
}

pub(crate) async fn coredns(progress: &Progress) -> Result<PathBuf> {
    let program = Tool::find("coredns", "1.13.1")?
        .ensure(progress)
        .await?
        .join("coredns");
    let settings = "USER 65532:65532\nENTRYPOINT [\"/coredns\"]\n";
    cached(
        "coredns-1.13.1",
        COREDNS,
        &[(program.as_path(), "/coredns")],
        settings,
        progress,
    )
    .await
}

/// Builds the operator's image into `archive`: the program and `files` on Debian's C library, as an unprivileged user,
/// without a shell. The same files give the same image.
pub async fn operator(
    name: &str,
    program: &Path,
    files: &[(&Path, &str)],
    archive: &Path,
    progress: &Progress,
) -> Result<()> {
    let base = operator_base(progress).await?;
    let copied = operator_files(&base, program, files);
    build(name, &copied, OPERATOR_SETTINGS, archive).await
}

/// The same into a registry, under `to`; answers its digest there.
pub(crate) async fn push_operator(
    to: &str,
    program: &Path,
    files: &[(&Path, &str)],
    progress: &Progress,
) -> Result<String> {
    let base = operator_base(progress).await?;
    push(
        to,
        &operator_files(&base, program, files),
        OPERATOR_SETTINGS,
    )
    .await
}

fn operator_files<'a>(
    base: &'a Path,
    program: &'a Path,
    files: &[(&'a Path, &'a str)],
) -> Vec<Copied<'a>> {
    let mut copied = vec![(base, "/"), (program, "/usr/local/bin/binnacle")];
    copied.extend_from_slice(files);
    copied
}

/// The C library and the certificates of the public authorities.
async fn operator_base(progress: &Progress) -> Result<PathBuf> {
    let folder = debian("operator-base", &OPERATOR_BASE, progress).await?;
    let bundle = "etc/ssl/certs/ca-certificates.crt";
    if !folder.join(bundle).exists() {
        // The package's own install script would make this bundle.
        let make = format!(
            "mkdir -p etc/ssl/certs && cat usr/share/ca-certificates/mozilla/*.crt >{bundle}.new && mv {bundle}.new {bundle}"
        );
        Command::new("sh")
            .args(["-c", &make])
            .folder(&folder)
            .run()
            .await?;
    }
    Ok(folder)
}

/// Programs name their loader below `/lib64`, which is a link in every Debian and from Debian 13 on in none of its packages
/// but one that holds much else (<https://wiki.debian.org/UsrMerge>).
fn link_into_usr(root: &Path) -> Result<()> {
    for name in ["bin", "lib", "lib64"] {
        let link = root.join(name);
        if root.join("usr").join(name).is_dir() && !link.exists() {
            std::os::unix::fs::symlink(format!("usr/{name}"), link)?;
        }
    }
    Ok(())
}

/// What Debian's packages hold, unpacked once into a folder of this title.
async fn debian(title: &str, names: &[&str], progress: &Progress) -> Result<PathBuf> {
    let folder = cache_home()?.join("images").join(title);
    if folder.is_dir() {
        link_into_usr(&folder)?;
        return Ok(folder);
    }
    progress.say(&format!("fetching {} from Debian", names.join(", ")));
    let aside = Aside::make(title)?;
    let (packages, root) = (aside.0.join("packages"), aside.0.join("root"));
    fs::create_dir_all(&packages)?;
    fs::create_dir_all(&root)?;
    let fetch = || {
        Command::new("apt-get")
            .folder(&packages)
            .args(["download", "-qq"])
            .args(names)
    };
    if fetch().run().await.is_err() {
        Command::new("apt-get")
            .args(["update", "-qq"])
            .run()
            .await?;
        fetch().run().await?;
    }
    for package in fs::read_dir(&packages)? {
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(package?.path())
            .arg(&root)
            .run()
            .await?;
    }
    Command::new("rm")
        .args([
            "-rf",
            "usr/share/doc",
            "usr/share/lintian",
            "usr/share/man",
            "usr/sbin",
        ])
        .folder(&root)
        .run()
        .await?;
    link_into_usr(&root)?;
    if let Err(error) = fs::rename(&root, &folder)
        && !folder.is_dir()
    {
        return Err(error.into());
    }
    Ok(folder)
}

/// Builds an image unless its archive is there.
async fn cached(
    title: &str,
    name: &str,
    copied: &[Copied<'_>],
    settings: &str,
    progress: &Progress,
) -> Result<PathBuf> {
    let archive = cache_home()?.join("images").join(format!("{title}.tar"));
    if !archive.exists() {
        progress.say(&format!("building image {name}"));
        build(name, copied, settings, &archive).await?;
    }
    Ok(archive)
}

/// Builds an image into an archive.
async fn build(name: &str, copied: &[Copied<'_>], settings: &str, archive: &Path) -> Result<()> {
    let aside = make(name, copied, settings).await?;
    let fresh = aside.0.join("image.tar");
    aside
        .buildah()
        .args(["push", "--quiet", name])
        .arg(format!("docker-archive:{}:{name}", fresh.display()))
        .run()
        .await?;
    if let Some(folder) = archive.parent() {
        fs::create_dir_all(folder)?;
    }
    // Two who build the same image at once must not share this name.
    let beside = archive.with_extension(format!("{}.new", aside.title()));
    fs::copy(&fresh, &beside)?;
    fs::rename(&beside, archive).with_context(|| format!("{} cannot be written", archive.display()))
}

/// Builds an image into a registry that speaks plain HTTP, under `to`, and answers its digest there.
async fn push(to: &str, copied: &[Copied<'_>], settings: &str) -> Result<String> {
    let aside = make(to, copied, settings).await?;
    let digest = aside.0.join("digest");
    aside
        .buildah()
        .args(["push", "--quiet", "--tls-verify=false"])
        .args(["--disable-compression", "--digestfile"])
        .arg(&digest)
        .arg(to)
        .arg(format!("docker://{to}"))
        .run()
        .await?;
    Ok(fs::read_to_string(digest)?.trim().to_owned())
}

/// Builds `FROM scratch` with fixed times, in a store of its own that goes away with the answer.
async fn make(name: &str, copied: &[Copied<'_>], settings: &str) -> Result<Aside> {
    let aside = Aside::make("image")?;
    let context = aside.0.join("context");
    fs::create_dir_all(&context)?;
    let mut recipe = "FROM scratch\n".to_owned();
    for (number, (from, to)) in copied.iter().enumerate() {
        Command::new("cp")
            .args(["-r", "--reflink=auto", "--preserve=mode"])
            .arg(from)
            .arg(context.join(number.to_string()))
            .run()
            .await?;
        recipe.push_str(&format!("COPY {number} {to}\n"));
    }
    recipe.push_str(settings);
    fs::write(context.join("Containerfile"), recipe)?;
    aside
        .buildah()
        .args([
            "bud",
            "--isolation",
            "chroot",
            "--timestamp",
            "0",
            "--quiet",
        ])
        .args(["--tag", name])
        .arg(&context)
        .run()
        .await?;
    Ok(aside)
}

/// A folder for work in progress that is removed with its value.
struct Aside(PathBuf);

impl Aside {
    fn make(what: &str) -> Result<Self> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = cache_home()?
            .join("images")
            .join(format!(".{what}.{}.{number}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// What no other one has, in this process or another.
    fn title(&self) -> std::borrow::Cow<'_, str> {
        self.0
            .file_name()
            .map_or_else(Default::default, |name| name.to_string_lossy())
    }

    /// buildah with a store of its own in here.
    fn buildah(&self) -> Command {
        Command::new("buildah")
            .args(["--storage-driver", "vfs", "--root"])
            .arg(self.0.join("store"))
            .arg("--runroot")
            .arg(self.0.join("run"))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
