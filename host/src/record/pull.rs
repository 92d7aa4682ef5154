//! `binnacle record pull`: recordings out of running operators, with the modules that decided, through the API server.
//!
//! Files are taken over as they are, piece by piece; what they hold is not looked at. Who may do this, the API server says:
//! it needs listing pods and forwarding ports in the operator's namespace.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use indicatif::ProgressBar;
use serde::Serialize;
use tokio::fs;
use tokio::io::AsyncWriteExt as _;

use crate::operator::{self, Connection, Reach};
use crate::output::{self, Format, count, grouped};
use crate::recorder::Kept;
use crate::run::runtime;

/// Arguments of `binnacle record pull`.
#[derive(Debug, clap::Args)]
pub struct PullArgs {
    /// The folder to write to, with a folder for each pod. What is there and has not grown is left as it is
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// The operator's namespace; without it, that of the kubeconfig
    #[arg(short, long)]
    namespace: Option<String>,
    /// Only this pod of the operator; without it, all that run
    #[arg(long)]
    pod: Option<String>,
    #[command(flatten)]
    reach: Reach,
    /// How it is told what was written
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What came from one pod.
#[derive(Debug, Serialize)]
struct Pulled {
    pod: String,
    folder: PathBuf,
    /// Files that are in the folder now.
    files: usize,
    /// Bytes that were transferred.
    bytes: u64,
}

/// Pulls and says what was written.
///
/// # Errors
/// When no operator is found or reached, a transfer breaks off, or a file cannot be written.
pub fn pull(args: PullArgs) -> anyhow::Result<()> {
    let PullArgs {
        to,
        namespace,
        pod,
        reach,
        output,
    } = args;
    let pulled = runtime()?.block_on(async {
        let (client, namespace) = reach.client(namespace).await?;
        let mut pulled = Vec::new();
        for operator in operator::running(&client, &namespace, pod.as_deref()).await? {
            let folder = to.join(operator.name());
            let one =
                async { pull_from(&mut operator.connect().await?, operator.name(), folder).await };
            let one = one.await;
            pulled.push(one.with_context(|| {
                let name = operator.name();
                format!("the recordings of the pod {namespace}/{name} are not complete")
            })?);
        }
        anyhow::Ok(pulled)
    })?;
    match output {
        Format::Text => output::print(text(&pulled))?,
        Format::Json => output::print_json(&pulled)?,
    }
    Ok(())
}

async fn pull_from(
    connection: &mut Connection,
    name: &str,
    folder: PathBuf,
) -> anyhow::Result<Pulled> {
    let files = connection.list().await?;
    ensure!(!files.is_empty(), "it has recorded nothing yet");
    let progress = output::bar(name, files.iter().map(|file| file.bytes).sum());
    let mut pulled = Pulled {
        pod: name.to_owned(),
        folder,
        files: 0,
        bytes: 0,
    };
    for file in &files {
        let Some(path) = file.within(&pulled.folder) else {
            output::note(format_args!(
                "{} is left out: no recorder names its files so.",
                file.name
            ));
            continue;
        };
        if is_here(&path, file.bytes).await {
            progress.inc(file.bytes);
            pulled.files += 1;
            continue;
        }
        let before = progress.position();
        let taken = take(connection, file, &path, &progress).await?;
        pulled.files += usize::from(taken);
        pulled.bytes += progress.position() - before;
    }
    progress.finish_and_clear();
    Ok(pulled)
}

/// Files are only ever appended to, so an equal length is an equal file.
async fn is_here(path: &Path, bytes: u64) -> bool {
    let there = fs::metadata(path).await;
    there.is_ok_and(|there| there.len() == bytes)
}

/// Takes one file; a file of this name is whole or as it was before. False: the operator has forgotten it in between.
async fn take(
    connection: &mut Connection,
    file: &Kept,
    path: &Path,
    progress: &ProgressBar,
) -> anyhow::Result<bool> {
    let Some(mut body) = connection.open_file(&file.name).await? else {
        output::note(format_args!(
            "{} was the oldest and is forgotten by now.",
            file.name
        ));
        return Ok(false);
    };
    let unwritable = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await.with_context(unwritable)?;
    }
    let unfinished = path.with_extension("part");
    let mut written = fs::File::create(&unfinished)
        .await
        .with_context(unwritable)?;
    while let Some(piece) = body.next().await? {
        written.write_all(&piece).await.with_context(unwritable)?;
        progress.inc(piece.len() as u64);
    }
    written.sync_all().await.with_context(unwritable)?;
    fs::rename(&unfinished, path)
        .await
        .with_context(unwritable)?;
    Ok(true)
}

fn text(pulled: &[Pulled]) -> String {
    let lines = pulled.iter().map(|one| {
        let Pulled {
            pod: _,
            folder,
            files,
            bytes,
        } = one;
        format!(
            "{}: {}, {} bytes transferred\n",
            folder.display(),
            count(*files, "file"),
            grouped(usize::try_from(*bytes).unwrap_or(usize::MAX))
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt as _, copy_bidirectional_with_sizes};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::http::recordings::routes;

    const SEGMENT: &str = "binnacle-000000000001.jsonl.zst";
    const MODULE: &str = "modules/0123abcd.wasm";

    /// What an operator serves, and where.
    async fn operator(folder: &Path) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let routes = routes(folder.to_owned(), None, CancellationToken::new());
        let service = routes.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async { axum::serve(listener, service).await });
        address
    }

    async fn connect(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let connection = Connection::over(stream, "a", None).await;
        connection.expect("HTTP")
    }

    fn recorded(segment: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes);
        std::fs::create_dir(folder.path().join("modules")).expect("it is written");
        write(SEGMENT, vec![7; segment]).expect("it is written");
        write(MODULE, vec![8; 100]).expect("it is written");
        write("modules/0123abcd.part", vec![9; 100]).expect("it is written");
        write("passwords", vec![9; 100]).expect("it is written");
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let files = |folder: &Path| {
            let entries = std::fs::read_dir(folder).expect("a folder");
            entries
                .map(|entry| entry.expect("an entry").path())
                .collect::<Vec<_>>()
        };
        let mut all = [files(folder), files(&folder.join("modules"))].concat();
        all.retain(|path| path.is_file());
        all.sort();
        let relative = |path: &PathBuf| path.strip_prefix(folder).ok()?.to_str().map(str::to_owned);
        all.iter().filter_map(relative).collect()
    }

    #[tokio::test]
    async fn segments_and_modules_come_whole_and_what_is_here_is_not_asked_for_again() {
        let (theirs, ours) = (recorded(300_000), tempfile::tempdir().expect("a folder"));
        let address = operator(theirs.path()).await;
        let to = ours.path().join("a");
        let mut connection = connect(address).await;
        let pulled = pull_from(&mut connection, "a", to.clone()).await;
        let pulled = pulled.expect("all of it");
        assert_eq!((pulled.files, pulled.bytes), (2, 300_100));
        assert_eq!(names(&to), [SEGMENT, MODULE]);
        assert_eq!(std::fs::read(to.join(SEGMENT)).ok(), Some(vec![7; 300_000]));

        std::fs::write(theirs.path().join(SEGMENT), vec![7; 300_005]).expect("it grows");
        let again = pull_from(&mut connect(address).await, "a", to.clone()).await;
        let again = again.expect("all of it");
        assert_eq!((again.files, again.bytes), (2, 300_005));
        assert_eq!(std::fs::read(to.join(SEGMENT)).ok(), Some(vec![7; 300_005]));
    }

    #[tokio::test]
    async fn a_transfer_that_breaks_off_says_so_and_leaves_nothing_half() {
        let (theirs, ours) = (recorded(3_000_000), tempfile::tempdir().expect("a folder"));
        let address = operator(theirs.path()).await;
        // What lies between passes on so much of the answers and then no more.
        let between = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let passing = between.local_addr().expect("an address");
        tokio::spawn(async move {
            let (mut near, _) = between.accept().await.expect("a connection");
            let far = TcpStream::connect(address).await.expect("a connection");
            let (answers, requests) = far.into_split();
            let mut far = tokio::io::join(answers.take(1_000_000), requests);
            copy_bidirectional_with_sizes(&mut near, &mut far, 1024, 1024).await
        });
        let to = ours.path().join("a");
        let broken = pull_from(&mut connect(passing).await, "a", to.clone()).await;
        let broken = format!("{:#}", broken.expect_err("it breaks off"));
        assert!(broken.contains("before its end; pull again"), "{broken}");
        assert!(!to.join(SEGMENT).exists());
        assert!(to.join(MODULE).exists());
        let again = pull_from(&mut connect(address).await, "a", to.clone()).await;
        assert_eq!(again.expect("the rest").bytes, 3_000_000);
    }

    #[tokio::test]
    async fn names_that_lead_elsewhere_give_nothing() {
        let theirs = recorded(10);
        let mut connection = connect(operator(theirs.path()).await).await;
        for name in [
            "passwords",
            "../passwords",
            "modules/..%2fpasswords",
            "modules/0123abcd.part",
        ] {
            let found = connection.open_file(name).await.expect("an answer");
            assert!(found.is_none(), "{name}");
        }
    }
}
