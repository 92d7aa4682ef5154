//! The objects of a file: of which dialect each is, its spec in a type, and its metadata as far as people wrote it.

use contract::improbable::{self, NotCarried, Subject};
use contract::{ResourceKind, names};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Converted, Defaults, Remark};
use crate::documents::lost;

/// Annotation in which kubectl keeps what it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object of the file.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) dialect: Dialect,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) value: Value,
}

/// Whose kind an object is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Coreos(ResourceKind),
    Improbable(ImprobableKind),
    Other,
}

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Coreos,
    Improbable,
}

/// A kind of `etcd.improbable.io/v1alpha1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImprobableKind {
    Cluster,
    Peer,
    Backup,
    Schedule,
    Restore,
}

impl ImprobableKind {
    const ALL: [Self; 5] = [
        Self::Cluster,
        Self::Peer,
        Self::Backup,
        Self::Schedule,
        Self::Restore,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cluster => "EtcdCluster",
            Self::Peer => "EtcdPeer",
            Self::Backup => "EtcdBackup",
            Self::Schedule => "EtcdBackupSchedule",
            Self::Restore => "EtcdRestore",
        }
    }
}

impl Side {
    pub(super) fn api_version(self) -> String {
        match self {
            Self::Coreos => format!("{}/{}", contract::GROUP, contract::VERSION),
            Self::Improbable => format!("{}/{}", improbable::GROUP, improbable::VERSION),
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Coreos => Self::Improbable,
            Self::Improbable => Self::Coreos,
        }
    }
}

/// The objects of all documents, those of lists one by one.
///
/// # Errors
/// A document that is no object, or whose kind no dialect has.
pub(super) fn all(documents: Vec<Value>) -> Result<Vec<Object>, String> {
    let mut objects = Vec::new();
    for (at, document) in documents.into_iter().enumerate() {
        let place = format!("document {}", at + 1);
        // As after a line of dashes at the end.
        if document.is_null() {
            continue;
        }
        match document.get("items").and_then(Value::as_array) {
            Some(items) => {
                for (at, item) in items.iter().enumerate() {
                    objects.push(Object::of(
                        item.clone(),
                        &format!("{place}, item {}", at + 1),
                    )?);
                }
            }
            None => objects.push(Object::of(document, &place)?),
        }
    }
    Ok(objects)
}

impl Object {
    fn of(value: Value, place: &str) -> Result<Self, String> {
        let text = |path: &str| {
            value
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let (Some(version), Some(kind)) = (text("/apiVersion"), text("/kind")) else {
            return Err(format!(
                "{place} has no apiVersion or no kind, so it is no object of Kubernetes"
            ));
        };
        let name = text("/metadata/name").unwrap_or_default();
        let dialect = Dialect::of(&version, &kind).map_err(|why| format!("{place}: {why}"))?;
        if name.is_empty() && dialect != Dialect::Other {
            return Err(format!(
                "{place}: the {kind} has no metadata.name. Give it one"
            ));
        }
        Ok(Self {
            dialect,
            kind,
            name,
            value,
        })
    }

    pub(super) const fn side(&self) -> Option<Side> {
        match self.dialect {
            Dialect::Coreos(_) => Some(Side::Coreos),
            Dialect::Improbable(_) => Some(Side::Improbable),
            Dialect::Other => None,
        }
    }

    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// The text at a path; none where it is empty.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        let text = self.value.pointer(path).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    }

    pub(super) fn subject<'a>(&'a self, defaults: Defaults<'a>) -> Subject<'a> {
        Subject {
            name: &self.name,
            namespace: self.text("/metadata/namespace"),
            uid: self.text("/metadata/uid"),
            created: self.text("/metadata/creationTimestamp"),
            store_secret: defaults.store_secret,
        }
    }

    /// The spec in its type; what the type does not know is remarked on.
    ///
    /// # Errors
    /// The field that cannot be read, and why.
    pub(super) fn spec<T>(&self, converted: &mut Converted) -> Result<T, Vec<NotCarried>>
    where
        T: DeserializeOwned + Serialize,
    {
        let mut sent = self.value.get("spec").cloned().unwrap_or_else(|| json!({}));
        spell_quantities(&mut sent);
        let spec: T = serde_path_to_error::deserialize(&sent).map_err(|error| {
            let path = error.path().to_string();
            let field = if path == "." {
                "spec".to_owned()
            } else {
                format!("spec.{path}")
            };
            vec![NotCarried {
                field,
                why: format!("{}. Correct it", error.into_inner()),
            }]
        })?;
        let kept = serde_json::to_value(&spec).unwrap_or_default();
        for field in lost("spec", Some(&sent), Some(&kept)) {
            // What says nothing is not written either.
            if !says_nothing(self.value.pointer(&format!("/{}", field.replace('.', "/")))) {
                converted.remark(self, &field, "no such field is known; is it misspelt?");
            }
        }
        Ok(spec)
    }

    /// The object in the other dialect.
    pub(super) fn said_as(
        &self,
        side: Side,
        kind: &str,
        spec: &impl Serialize,
        converted: &mut Converted,
    ) {
        let found = self.value.get("metadata").cloned().unwrap_or_default();
        let mut metadata = Map::new();
        for key in ["name", "namespace", "labels", "annotations"] {
            if let Some(value) = found.get(key) {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        let of_operators = [
            contract::OLD_FINALIZER,
            improbable::CLAIM_FINALIZER,
            improbable::SCHEDULE_FINALIZER,
        ];
        let finalizers = found.get("finalizers").and_then(Value::as_array);
        let mut of_others = finalizers
            .into_iter()
            .flatten()
            .filter(|finalizer| !of_operators.iter().any(|own| *finalizer == own));
        if of_others.next().is_some() {
            converted.remark(self, "metadata.finalizers", "who set them sets them anew");
        }
        if found.get("ownerReferences").is_some() {
            converted.remark(
                self,
                "metadata.ownerReferences",
                "it would be deleted with an object that owned another one. Set them where that is wanted",
            );
        }
        converted.objects.push(json!({
            "apiVersion": side.api_version(),
            "kind": kind,
            "metadata": metadata,
            "spec": spec,
        }));
    }
}

impl Dialect {
    fn of(version: &str, kind: &str) -> Result<Self, String> {
        let group = version.split('/').next().unwrap_or_default();
        let unknown = |side: Side| {
            format!(
                "{version} {kind} is no kind that can be converted; those of {} can",
                side.api_version()
            )
        };
        if version == Side::Coreos.api_version() {
            let kind = ResourceKind::of(kind)
                .filter(|kind| kind.is_of(contract::Dialect::Coreos))
                .ok_or_else(|| unknown(Side::Coreos))?;
            return Ok(Self::Coreos(kind));
        }
        if version == Side::Improbable.api_version() {
            let found = ImprobableKind::ALL
                .into_iter()
                .find(|known| known.name() == kind);
            return found
                .map(Self::Improbable)
                .ok_or_else(|| unknown(Side::Improbable));
        }
        if group == improbable::GROUP {
            return Err(unknown(Side::Improbable));
        }
        Ok(Self::Other)
    }
}

impl Converted {
    pub(super) fn remark(&mut self, object: &Object, field: &str, why: &str) {
        self.remarks(
            object,
            vec![NotCarried {
                field: field.to_owned(),
                why: why.to_owned(),
            }],
        );
    }

    pub(super) fn remarks(&mut self, object: &Object, left: Vec<NotCarried>) {
        let object = object.shown();
        self.left.extend(left.into_iter().map(|about| Remark {
            object: object.clone(),
            about,
        }));
    }
}

/// Why a cluster cannot have this name, if so. The same in both dialects: members and Services are called after it.
pub(super) fn why_no_name(name: &str, field: &str) -> Option<NotCarried> {
    let is_label = name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_digit() || byte.is_ascii_lowercase());
    let why = if name.len() > names::LONGEST_CLUSTER_NAME {
        format!(
            "it has {} characters and may have {}. Choose a shorter one",
            name.len(),
            names::LONGEST_CLUSTER_NAME
        )
    } else if is_label {
        return None;
    } else {
        "it is also the name of a Service: it begins with a letter and has only a-z, 0-9 and dashes. Choose another one".to_owned()
    };
    Some(NotCarried {
        field: field.to_owned(),
        why,
    })
}

/// People write quantities as numbers, too; the types know them as texts.
fn spell_quantities(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if value.is_object() && (key == "limits" || key == "requests") {
                    let quantities = value.as_object_mut().into_iter();
                    for quantity in quantities.flat_map(|quantities| quantities.values_mut()) {
                        if quantity.is_number() {
                            *quantity = Value::String(quantity.to_string());
                        }
                    }
                } else {
                    spell_quantities(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_quantities),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn says_nothing(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(value)) => !value,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Null | Value::Number(_)) | None => false,
    }
}
