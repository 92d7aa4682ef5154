//! The edited resource: read from a file, and put in the place of the stored one as the API server would.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use contract::{Dialect, KIND, Resource, ResourceKind};
use kube::Client;
use kube::api::PostParams;
use kube::core::{DynamicObject, ObjectMeta, TypeMeta};
use serde_json::json;

use crate::documents::{self, lost};
use crate::key::ClusterKey;
use crate::observe::{self, project};
use crate::operator::in_words;
use crate::output;

/// What a file asks for.
pub(super) struct Edit {
    object: DynamicObject,
    /// Whose group it is of.
    pub(super) dialect: Dialect,
    pub(super) name: String,
    /// The one named on the command line, else that of the file.
    pub(super) namespace: Option<String>,
}

/// The resource before and after the edit.
pub(super) struct Edited {
    /// None: it is not there yet.
    pub(super) before: Option<Resource>,
    pub(super) after: Resource,
}

impl Edit {
    pub(super) fn read(file: &Path, namespace: Option<String>) -> anyhow::Result<Self> {
        let shown = file.display();
        let documents = documents::read(file)?;
        let mut clusters = documents
            .into_iter()
            .filter(|document| document.get("kind").is_some_and(|kind| kind == KIND));
        let document = clusters
            .next()
            .with_context(|| format!("{shown} holds no {KIND}; other kinds are not planned"))?;
        ensure!(
            clusters.next().is_none(),
            "{shown} holds more than one {KIND}: plan one at a time"
        );
        let object: DynamicObject = serde_json::from_value(document)
            .with_context(|| format!("the {KIND} in {shown} cannot be read"))?;
        let dialect = dialect(object.types.as_ref())
            .with_context(|| format!("the {KIND} in {shown} cannot be planned"))?;
        let name = object.metadata.name.clone();
        if let (Some(asked), Some(written)) = (&namespace, &object.metadata.namespace) {
            ensure!(
                asked == written,
                "{shown} is of the namespace {written}, and --namespace asks for {asked}"
            );
        }
        Ok(Self {
            name: name.with_context(|| format!("the {KIND} in {shown} has no metadata.name"))?,
            namespace: namespace.or_else(|| object.metadata.namespace.clone()),
            dialect,
            object,
        })
    }

    /// The cluster that is meant, in that namespace.
    pub(super) fn key(&self, namespace: &str) -> ClusterKey {
        ClusterKey {
            dialect: self.dialect,
            ..ClusterKey::new(ResourceKind::EtcdCluster, namespace, &self.name)
        }
    }

    /// Asks the API server what it would store, without storing it.
    pub(super) async fn tried(self, client: &Client, namespace: &str) -> anyhow::Result<Edited> {
        let api = observe::neighbours(client, &self.key(namespace));
        let name = self.name.clone();
        let whose = || format!("{KIND} {namespace}/{name}");
        let before = api
            .get_opt(&self.name)
            .await
            .map_err(in_words)
            .with_context(|| format!("{} cannot be read", whose()))?;
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let object = match &before {
            Some(stored) => self.over(stored.clone()),
            None => self.object.clone(),
        };
        let tried = match &before {
            Some(_) => api.replace(&self.name, &dry, &object).await,
            None => api.create(&dry, &object).await,
        };
        let after = match tried {
            Ok(after) => {
                let sent = self.object.data.as_object().into_iter().flatten();
                let unknown: Vec<String> = sent
                    .filter(|(key, _)| *key != "status")
                    .flat_map(|(key, value)| lost(key, Some(value), after.data.get(key)))
                    .collect();
                ensure!(
                    unknown.is_empty(),
                    "the API server does not know {}, and `kubectl apply` refuses it",
                    unknown.join(" and ")
                );
                after
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                output::note("You may not edit it, so the API server's rules were not asked.");
                object
            }
            Err(kube::Error::Api(status)) => {
                bail!("the API server refuses the edit: {}", status.message)
            }
            Err(error) => {
                return Err(error).with_context(|| format!("the edit of {} is not tried", whose()));
            }
        };
        let before = before.map(project::resource);
        let mut after = project::resource(after);
        namespace.clone_into(&mut after.namespace);
        if let Some(before) = &before {
            after.status.clone_from(&before.status);
        }
        Ok(Edited { before, after })
    }

    /// Puts the edit in the place of a recorded resource.
    pub(super) fn in_place_of(self, before: Resource) -> Edited {
        let stored = DynamicObject {
            types: Some(TypeMeta {
                api_version: before.api_version.clone(),
                kind: before.kind.clone(),
            }),
            metadata: ObjectMeta {
                labels: Some(before.labels.clone()),
                annotations: Some(before.annotations.clone()),
                ..ObjectMeta::default()
            },
            data: json!({}),
        };
        let edited = project::resource(self.over(stored));
        let after = Resource {
            generation: before.generation + i64::from(edited.spec != before.spec),
            labels: edited.labels,
            annotations: edited.annotations,
            spec: edited.spec,
            ..before.clone()
        };
        Edited {
            before: Some(before),
            after,
        }
    }

    /// The stored object with the file's spec; labels and annotations of the file are added to its own.
    fn over(&self, mut stored: DynamicObject) -> DynamicObject {
        let spec = self.object.data.get("spec").cloned().unwrap_or_default();
        stored.data["spec"] = spec;
        let metadata = &mut stored.metadata;
        metadata
            .labels
            .get_or_insert_default()
            .extend(self.object.metadata.labels.clone().unwrap_or_default());
        metadata
            .annotations
            .get_or_insert_default()
            .extend(self.object.metadata.annotations.clone().unwrap_or_default());
        stored
    }
}

/// That of the file's group; a group that is not served is refused, as `kubectl apply` would.
fn dialect(types: Option<&TypeMeta>) -> anyhow::Result<Dialect> {
    let mut served = Dialect::ALL.map(Dialect::api_version).join(" and ");
    served.insert_str(0, "it is planned of ");
    let written = types.map_or("", |types| types.api_version.as_str());
    let mut all = Dialect::ALL.into_iter();
    all.find(|dialect| dialect.api_version() == written)
        .with_context(|| format!("its apiVersion is {written:?}, and {served}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_not_the_files_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        write(&file, &Dialect::Coreos.api_version());
        let read = |namespace: Option<&str>| Edit::read(file.path(), namespace.map(str::to_owned));
        let Err(refused) = read(Some("here")) else {
            panic!("it is read")
        };
        assert!(refused.to_string().contains("of the namespace there"));
        for same in [None, Some("there")] {
            let edit = read(same).expect("it is read");
            assert_eq!(edit.namespace.as_deref(), Some("there"));
        }
    }

    fn write(file: &tempfile::NamedTempFile, api_version: &str) {
        let text = format!(
            "apiVersion: {api_version}\nkind: {KIND}\nmetadata: {{name: a, namespace: there}}\n\
             spec: {{replicas: 3, version: 3.6.16, storage: {{volumeClaimTemplate: {{storageClassName: local}}}}}}\n"
        );
        std::fs::write(file.path(), text).expect("a file");
    }

    #[test]
    fn the_files_group_says_which_cluster_is_meant() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for dialect in Dialect::ALL {
            write(&file, &dialect.api_version());
            let edit = Edit::read(file.path(), None).expect("it is read");
            assert_eq!(edit.key("there").dialect, dialect);
        }
        for other in ["etcd.improbable.io/v9", "example.com/v1", "\"\""] {
            write(&file, other);
            let Err(refused) = Edit::read(file.path(), None) else {
                panic!("{other} is planned")
            };
            let refused = format!("{refused:#}");
            assert!(refused.contains("etcd.improbable.io/v1alpha1"), "{refused}");
        }
    }

    /// With no API server, too, the spec is read as its group means it.
    #[test]
    fn an_edit_of_the_second_group_takes_the_place_of_a_recorded_resource() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let api_version = Dialect::Improbable.api_version();
        write(&file, &api_version);
        let edit = Edit::read(file.path(), None).expect("it is read");
        let before = Resource {
            api_version,
            kind: KIND.to_owned(),
            spec: json!({"size": 1, "version": "3.6.16"}),
            ..Resource::default()
        };
        let edited = edit.in_place_of(before);
        assert_eq!(edited.after.spec["size"], 3, "{}", edited.after.spec);
        assert_eq!(edited.after.dialect(), Dialect::Improbable);
    }
}
