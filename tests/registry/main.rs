//! The suite `registry`: modules and their signatures in a real OCI registry, without a Kubernetes.

mod signer;

use anyhow::{Context, Result, ensure};
use fulcio::Sigstore;
use host::error::Chain;
use host::module::digest;
use host::registry::{Access, Error, Login, Pulled, Pushed, Reference, SideProcess, push};
use host::signature::{Identity, PublicKey, Roots, Signer as Wanted};
use small::Text;
use tests::registry::Registry;
use tests::sealed::sealed;

use signer::Signer;

fn module(mark: &str) -> Vec<u8> {
    let text = Text {
        data: mark.as_bytes(),
        ..Text::default()
    };
    host::module::seal(&text.core()).expect("the core module fits the world")
}

fn plain() -> Access {
    Access {
        plain_http: true,
        login: None,
    }
}

fn reference(registry: &Registry, rest: &str) -> Result<Reference> {
    Ok(registry.repository(rest).parse()?)
}

fn aside() -> SideProcess {
    SideProcess::of(sealed().binary.clone())
}

async fn pull(
    reference: &Reference,
    access: Access,
    wanted: Option<&str>,
    signed: bool,
) -> Result<Pulled, Error> {
    aside().pull(reference, access, wanted, signed).await
}

async fn resolve(reference: &Reference) -> Result<String, Error> {
    aside().resolve(reference, plain()).await
}

async fn refused(reference: &Reference, access: Access) -> String {
    let refused = pull(reference, access, None, true).await;
    Chain(&refused.expect_err("a refusal")).to_string()
}

/// A tag is moved by whoever may push; a digest by nobody.
#[tokio::test]
async fn what_was_pushed_is_pulled_by_its_tag_until_that_is_moved_and_by_its_digest_for_ever()
-> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::start(folder.path(), false).await?;
    let tag = reference(&registry, "team/module:1")?;
    let (first, second) = (module("first"), module("second"));
    let Pushed { artifact, manifest } = push(&tag, plain(), first.clone()).await?;
    let again = push(&tag, plain(), first.clone()).await?;
    ensure!(
        again.manifest == manifest,
        "the same bytes gave another manifest"
    );
    let by_digest: Reference = artifact.parse()?;
    for reference in [&tag, &by_digest] {
        let pulled = pull(reference, plain(), Some(&digest(&first)), true).await?;
        ensure!(pulled.bytes == first && pulled.artifact == artifact && pulled.proof.is_none());
        ensure!(resolve(reference).await? == manifest);
    }
    push(&tag, plain(), second.clone()).await?;
    ensure!(resolve(&tag).await? != manifest, "the tag was not moved");
    let other = pull(&tag, plain(), Some(&digest(&first)), false).await;
    ensure!(matches!(other, Err(Error::Other { .. })), "{other:?}");
    ensure!(pull(&by_digest, plain(), None, false).await?.bytes == first);

    let missing = refused(&reference(&registry, "team/module:2")?, plain()).await;
    ensure!(
        missing.contains("there is no") && missing.contains("team/module:2"),
        "{missing}"
    );
    Ok(())
}

#[tokio::test]
async fn a_registry_with_a_login_lets_in_who_has_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::start(folder.path(), true).await?;
    let tag = reference(&registry, "team/module:1")?;
    let config = registry.docker_config();
    let access = |config: &str| -> Result<Access> {
        let login = Login::find(config.as_bytes(), &tag)?;
        Ok(Access { login, ..plain() })
    };
    push(&tag, access(&config)?, module("secret")).await?;
    let pulled = pull(&tag, access(&config)?, None, false).await?;
    ensure!(pulled.bytes == module("secret"));
    let nobody = refused(&tag, plain()).await;
    ensure!(
        nobody.contains("may not be read without a login"),
        "{nobody}"
    );
    let wrong = config.replace(tests::registry::PASSWORD, "wrong-one");
    let wrong = refused(&tag, access(&wrong)?).await;
    ensure!(
        wrong.contains("may not be read by reader") && !wrong.contains("wrong-one"),
        "{wrong}"
    );
    let unwritten = push(&tag, plain(), module("other")).await;
    let unwritten = unwritten.err().context("it was written")?.to_string();
    ensure!(
        unwritten.contains("may not be written without a login"),
        "{unwritten}"
    );
    Ok(())
}

/// As cosign puts them there: under a tag made of the digest, and in a bundle that refers to it.
#[tokio::test]
async fn a_signature_beside_an_artifact_is_found_and_is_of_that_artifact() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::start(folder.path(), false).await?;
    let tag = reference(&registry, "team/module:1")?;
    let bytes = module("signed");
    let pushed = push(&tag, plain(), bytes.clone()).await?;
    let (ours, theirs) = (Signer::new()?, Signer::new()?);
    ours.sign(&registry, "team/module", &pushed.manifest)
        .await?;
    let pulled = pull(&tag, plain(), None, true).await?;
    let proof = pulled.proof.context("no signature was found")?;
    let key = |signer: &Signer| {
        let key = PublicKey::parse(&signer.public_key()).map_err(anyhow::Error::msg);
        key.map(Wanted::Key)
    };
    ensure!(proof.why_not_of(&key(&ours)?, &bytes).is_none());
    ensure!(proof.why_not_of(&key(&theirs)?, &bytes).is_some());
    ensure!(proof.why_not_of(&key(&ours)?, &module("other")).is_some());
    theirs
        .sign_in_bundle(&registry, "team/module", &pushed.manifest)
        .await?;
    let pulled = pull(&tag, plain(), None, true).await?;
    let proof = pulled.proof.context("no signature was found")?;
    for signer in [&ours, &theirs] {
        let why = proof.why_not_of(&key(signer)?, &bytes);
        ensure!(why.is_none(), "{why:?}");
    }
    ensure!(proof.why_not_of(&key(&Signer::new()?)?, &bytes).is_some());
    let unasked = pull(&tag, plain(), None, false).await?;
    ensure!(unasked.proof.is_none(), "nobody asked for it");
    Ok(())
}

#[tokio::test]
async fn an_image_is_refused_and_a_registry_that_went_away_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut registry = Registry::start(folder.path(), false).await?;
    let layer = b"a layer of files".as_slice();
    let name = digest(layer);
    let kind = "application/vnd.oci.image.layer.v1.tar";
    let described = serde_json::json!({"mediaType": kind, "digest": name, "size": layer.len()});
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": name, "size": layer.len()},
        "layers": [described],
    });
    let manifest = serde_json::to_vec(&manifest)?;
    registry
        .put("team/image", "1", &[(&name, layer)], &manifest)
        .await?;
    let image = reference(&registry, "team/image:1")?;
    let told = refused(&image, plain()).await;
    ensure!(
        told.contains("is no module") && told.contains(kind),
        "{told}"
    );
    // A registry without TLS does not speak it, and none of its words are taken for an answer.
    let told = refused(&image, Access::default()).await;
    ensure!(told.contains("cannot be reached"), "{told}");
    registry.stop().await?;
    let told = refused(&image, plain()).await;
    ensure!(told.contains("cannot be reached"), "{told}");
    registry.resume().await?;
    let told = refused(&image, plain()).await;
    ensure!(told.contains("is no module"), "{told}");
    Ok(())
}

/// The same for an identity without a key: what proves it is in annotations, or in the bundle.
#[tokio::test]
async fn an_identity_is_proven_by_what_lies_beside_an_artifact() -> Result<()> {
    let (issuer, subject) = ("https://accounts.example", "release@example.com");
    let sigstore = Sigstore::new();
    let wanted = |subject: &str| -> Result<Wanted> {
        let roots = Roots::parse(&sigstore.trusted_root()).map_err(anyhow::Error::msg)?;
        let identity = Identity {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        };
        Ok(Wanted::Identity(identity, roots))
    };
    let folder = tempfile::tempdir()?;
    let registry = Registry::start(folder.path(), false).await?;
    for (form, repository) in ["annotations", "bundle"]
        .into_iter()
        .zip(["team/a", "team/b"])
    {
        let tag = reference(&registry, &format!("{repository}:1"))?;
        let bytes = module(form);
        let pushed = push(&tag, plain(), bytes.clone()).await?;
        let manifest = &pushed.manifest;
        if form == "bundle" {
            let statement = signer::statement(manifest)?;
            let signature = sigstore.sign(issuer, subject, &fulcio::envelope(&statement));
            let bundle = signature.statement(&sigstore, &statement);
            signer::put_bundle(&registry, repository, manifest, bundle.into_bytes()).await?;
        } else {
            let payload = signer::payload(&registry, repository, manifest);
            let signature = sigstore.sign(issuer, subject, &payload);
            let beside = signature.annotations(&sigstore);
            signer::put_annotated(&registry, repository, manifest, &payload, &beside).await?;
        }
        let pulled = pull(&tag, plain(), None, true).await?;
        let proof = pulled.proof.context("no signature was found")?;
        let why = proof.why_not_of(&wanted(subject)?, &bytes);
        ensure!(why.is_none(), "{form}: {why:?}");
        let why = proof.why_not_of(&wanted("mallory@example.com")?, &bytes);
        let why = why.context("it is another's")?;
        ensure!(why.contains("identity mismatch"), "{form}: {why}");
    }
    Ok(())
}
