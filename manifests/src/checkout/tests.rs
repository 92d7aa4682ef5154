//! Generated files that were left over, edited or broken, and what is said of each.

use std::sync::LazyLock;

use semver::Version;
use tempfile::TempDir;

use super::*;
use crate::fault::line_with;
use crate::release::{New, TABLE, deprecate, promote, release};

fn version(text: &str) -> Version {
    text.parse().expect("a version")
}

fn new(version_text: &str, frozen: Option<String>) -> New {
    New {
        version: version(version_text),
        image: format!("quay.io/binnacle/binnacle@sha256:{}", "a".repeat(64)),
        created: "2026-01-31T12:00:00Z".to_owned(),
        upgrades_from: None,
        frozen,
    }
}

/// A checkout with two releases, of which the first is published and in prod.
fn checkout() -> TempDir {
    static WRITTEN: LazyLock<Vec<u8>> = LazyLock::new(written);
    let folder = tempfile::tempdir().expect("a folder");
    let mut archive = tar::Archive::new(WRITTEN.as_slice());
    archive.unpack(folder.path()).expect("unpacked");
    folder
}

/// All its files as an archive, for it takes seconds to generate them.
fn written() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let save = |table: &Table| {
        fs::create_dir_all(folder.path().join("manifests")).expect("made");
        fs::write(folder.path().join(TABLE), table.text().expect("text")).expect("written");
        write(folder.path()).expect("generated");
    };
    let first = release(&Table::default(), new("0.1.0", None)).expect("a release");
    let first = promote(&first, &version("0.1.0"), None).expect("promoted");
    save(&first);
    let digest = bundles(folder.path(), &first).expect("bundles")[0]
        .1
        .image()
        .digest();
    save(&release(&first, new("0.2.0", Some(digest))).expect("a release"));
    let mut archive = tar::Builder::new(Vec::new());
    archive
        .append_dir_all(".", folder.path())
        .expect("archived");
    archive.into_inner().expect("archived")
}

fn change(checkout: &TempDir, file: &str, from: &str, to: &str) {
    let path = checkout.path().join(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{from} is not in {file}");
    fs::write(path, text.replacen(from, to, 1)).expect("written");
}

/// The files that would be written anew, each with the line that is told of it.
fn stale_files(checkout: &TempDir) -> Vec<(String, usize)> {
    let faults = stale(checkout.path()).expect("compared");
    faults
        .into_iter()
        .map(|fault| (fault.file, fault.line))
        .collect()
}

/// The line of a file that holds this, from 1.
fn line(checkout: &TempDir, file: &str, word: &str) -> usize {
    let text = fs::read_to_string(checkout.path().join(file)).expect("a file");
    line_with(&text, word)
}

fn judged(checkout: &TempDir) -> Vec<String> {
    let faults = judge(checkout.path()).expect("judged");
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn what_was_written_is_fresh_and_in_order() {
    let checkout = checkout();
    assert_eq!(stale_files(&checkout), []);
    assert_eq!(judged(&checkout), Vec::<String>::new());
}

/// A file that an earlier generator wrote would be applied for ever.
#[test]
fn a_file_that_no_object_stands_in_is_stale_and_goes() {
    let checkout = checkout();
    let left = checkout.path().join("manifests/rbac/left_over.yaml");
    fs::write(&left, "kind: Role").expect("written");
    let wanted = ("manifests/rbac/left_over.yaml".to_owned(), 1);
    assert_eq!(stale_files(&checkout), [wanted]);
    write(checkout.path()).expect("written");
    assert!(!left.exists());
}

#[test]
fn a_published_bundle_that_was_edited_is_refused() {
    let checkout = checkout();
    change(
        &checkout,
        "bundle/0.1.0/manifests/binnacle.clusterserviceversion.yaml",
        "maturity: alpha",
        "maturity: stable",
    );
    let refused = stale(checkout.path()).expect_err("a refusal").to_string();
    assert!(
        refused.starts_with("bundle/0.1.0:1: the bundle of 0.1.0 was published as sha256:"),
        "{refused}"
    );
    assert!(
        refused.contains("it was edited. Take it back with `git checkout COMMIT -- bundle/0.1.0`"),
        "{refused}"
    );
}

/// Also when the edit was committed meanwhile.
#[test]
fn an_edit_of_a_published_bundle_is_found_in_the_history() {
    let checkout = checkout();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(checkout.path());
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        let done = command.args(arguments).output().expect("git");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=published"]);
    let csv = "bundle/0.1.0/manifests/binnacle.clusterserviceversion.yaml";
    change(&checkout, csv, "maturity: alpha", "maturity: stable");
    let at = format!("{csv}:{}: ", line(&checkout, csv, "maturity: stable"));
    for _ in ["edited", "committed"] {
        let refused = stale(checkout.path()).expect_err("a refusal").to_string();
        assert!(
            refused.starts_with(&at),
            "{refused} does not begin with {at}"
        );
        assert!(
            !refused.contains("COMMIT"),
            "{refused} does not say from where"
        );
        git(&["add", "."]);
        git(&["commit", "--quiet", "--allow-empty", "--message=edited"]);
    }
    git(&["checkout", "--quiet", "HEAD~2", "--", "bundle"]);
    let more = "bundle/0.1.0/manifests/more.yaml";
    fs::write(checkout.path().join(more), "kind: Pod\n").expect("written");
    let refused = stale(checkout.path()).expect_err("a refusal").to_string();
    assert!(
        refused.starts_with(&format!("{more}:1: ")) && refused.contains("was added. Remove it"),
        "{refused}"
    );
}

#[test]
fn a_generated_file_that_is_no_text_is_refused_with_its_line() {
    let checkout = checkout();
    let file = "catalog/configs/binnacle/more.yaml";
    fs::write(checkout.path().join(file), b"schema: x\n\xff").expect("written");
    let refused = stale(checkout.path()).expect_err("a refusal").to_string();
    assert!(
        refused.contains("more.yaml:2: this is no text. "),
        "{refused}"
    );
}

/// opm serves all files of the folder or none.
#[test]
fn a_further_catalog_file_that_is_no_yaml_is_refused_with_its_line() {
    let checkout = checkout();
    let file = "catalog/configs/binnacle/more.yaml";
    fs::write(
        checkout.path().join(file),
        "schema: olm.channel\nentries: [\n",
    )
    .expect("written");
    assert_eq!(stale_files(&checkout), [(file.to_owned(), 1)]);
    let said = judged(&checkout);
    assert!(
        said.iter()
            .any(|fault| fault.starts_with(&format!("{file}:3: this is no YAML"))),
        "{said:?}"
    );
}

#[test]
fn deprecations_that_tell_nobody_are_refused() {
    let checkout = checkout();
    let table = Table::read(checkout.path()).expect("a table");
    let deprecated = deprecate(&table, &version("0.1.0"), "Go on to 0.2.0").expect("deprecated");
    save(checkout.path(), &deprecated).expect("written");
    assert_eq!(judged(&checkout), Vec::<String>::new());
    let catalog = read(&checkout.path().join(catalog::FILE))
        .expect("read")
        .expect("text");
    for (from, to, words) in [
        (
            "message: Go on to 0.2.0",
            "message: ''",
            "olm.bundle binnacle.v0.1.0 is deprecated without a word why",
        ),
        (
            "    name: binnacle.v0.1.0\n    schema",
            "    name: binnacle.v0.1.1\n    schema",
            "olm.bundle binnacle.v0.1.1 is deprecated and not there",
        ),
    ] {
        fs::write(checkout.path().join(catalog::FILE), &catalog).expect("written");
        change(&checkout, catalog::FILE, from, to);
        let said = judged(&checkout);
        let is_said = said.iter().any(|fault| fault.contains(words));
        assert!(is_said, "{words}: {said:?}");
    }
}

#[test]
fn a_recipe_that_makes_another_image_is_refused_with_its_line() {
    let checkout = checkout();
    let (from, to) = ("COPY metadata", "COPY metadat");
    change(&checkout, "bundle/0.1.0/Dockerfile", from, to);
    let said = judged(&checkout);
    let words =
        "the image is made by `COPY metadat /metadata/` where `COPY metadata /metadata/` belongs";
    assert!(
        said[0].starts_with("bundle/0.1.0/Dockerfile:") && said[0].contains(words),
        "{said:?}"
    );
}

/// Its page is the one that lies beside the folder's files.
#[test]
fn a_page_further_down_is_stale() {
    let checkout = checkout();
    let page = checkout.path().join("catalog/configs/README.md");
    fs::write(&page, "key: [a").expect("written");
    let wanted = ("catalog/configs/README.md".to_owned(), 1);
    assert_eq!(stale_files(&checkout), [wanted]);
}

#[test]
fn a_table_is_not_written_beside_a_published_bundle_that_was_edited() {
    let checkout = checkout();
    let file = checkout.path().join(TABLE);
    let before = fs::read_to_string(&file).expect("a table");
    let csv = "bundle/0.1.0/manifests/binnacle.clusterserviceversion.yaml";
    change(&checkout, csv, "maturity: alpha", "maturity: stable");
    let table = Table::read(checkout.path()).expect("a table");
    let promoted = promote(&table, &version("0.2.0"), None).expect("promoted");
    save(checkout.path(), &promoted).expect_err("a refusal");
    assert_eq!(fs::read_to_string(&file).expect("a table"), before);
}

#[test]
fn the_newest_bundle_that_was_edited_is_stale() {
    let checkout = checkout();
    let file = "bundle/0.2.0/manifests/binnacle.clusterserviceversion.yaml";
    change(&checkout, file, "maturity: alpha", "maturity: stable");
    let line = line(&checkout, file, "maturity: stable");
    assert!(line > 1);
    assert_eq!(stale_files(&checkout), [(file.to_owned(), line)]);
}

#[test]
fn a_catalog_that_is_no_yaml_is_refused_with_its_line() {
    let checkout = checkout();
    change(
        &checkout,
        catalog::FILE,
        "schema: olm.channel",
        "schema: [olm.channel",
    );
    let said = judged(&checkout);
    assert!(
        said[0].starts_with("catalog/configs/binnacle/catalog.yaml:"),
        "{said:?}"
    );
    assert!(
        !said[0].starts_with("catalog/configs/binnacle/catalog.yaml:1:"),
        "{said:?}"
    );
    assert!(
        said[0].ends_with("Take it back with `make generate`"),
        "{said:?}"
    );
}

#[test]
fn a_catalog_that_strands_somebody_is_refused() {
    let checkout = checkout();
    change(
        &checkout,
        catalog::FILE,
        "  replaces: binnacle.v0.1.0\n",
        "",
    );
    let said = judged(&checkout);
    assert!(
        said.iter().any(|fault| fault
            .contains("the channel testing has two heads, binnacle.v0.1.0 and binnacle.v0.2.0")),
        "{said:?}"
    );
}

#[test]
fn a_bundle_without_what_olm_wants_is_refused_file_by_file() {
    let csv = "bundle/0.2.0/manifests/binnacle.clusterserviceversion.yaml";
    for (file, from, to, words) in [
        (
            csv,
            "version: 0.2.0",
            "version: 0.3.0",
            "metadata.name is binnacle.v0.2.0 and spec.version 0.3.0",
        ),
        (csv, "@sha256:", ":v", "is not named by digest"),
        (
            csv,
            "type: AllNamespaces",
            "type: EveryNamespace",
            "the install mode AllNamespaces is not said",
        ),
        (
            csv,
            "categories: Database",
            "categories: Databases",
            "the category is `Databases`",
        ),
        (
            csv,
            "path: size",
            "path: sizes",
            "spec.size stands in an example and has no descriptor",
        ),
        (
            csv,
            "minKubeVersion: 1.30.0",
            "minKubeVersion: 1.30.x",
            "minKubeVersion `1.30.x` is no full version",
        ),
        (
            csv,
            "capabilities: Seamless Upgrades",
            "capabilities: Seamless",
            "`Seamless` is no level of capabilities",
        ),
        (
            csv,
            "createdAt: 2026-01-31T12:00:00Z",
            "createdAt: yesterday",
            "createdAt `yesterday` is no time",
        ),
        (
            csv,
            "operatorframework.io/os.linux: supported",
            "operatorframework.io/os.linux: unknown",
            "no label operatorframework.io/os.",
        ),
        (
            "bundle/0.2.0/metadata/annotations.yaml",
            "registry+v1",
            "registry",
            "bundle.mediatype.v1 is `registry`",
        ),
    ] {
        let checkout = checkout();
        change(&checkout, file, from, to);
        let said = judged(&checkout);
        assert!(
            said.iter()
                .any(|fault| fault.starts_with(file) && fault.contains(words)),
            "{words}: {said:#?}"
        );
    }
}
