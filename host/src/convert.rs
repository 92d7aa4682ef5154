//! `binnacle convert`: the objects of a file, said in the other of the two dialects.
//!
//! Asks nobody: what is known stands in the file. The dialects themselves are the contract's.

mod from;
mod object;
mod to;

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use contract::improbable::NotCarried;
use serde_json::{Value, json};

use crate::documents;
use crate::output::{self, Format};
use object::{Dialect, Side};

/// Arguments of `binnacle convert`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Whether objects are of etcd.database.coreos.com/v1beta2 or of etcd.improbable.io/v1alpha1 is seen from the file; they are printed in the other one. Objects of other kinds are printed as they are.\nWhat cannot be carried over is said on standard error."
)]
pub struct ConvertArgs {
    /// The objects, as YAML or JSON, one or many; - is standard input
    #[arg(short, long, value_name = "FILE")]
    filename: PathBuf,
    /// The class of volume claims that name none: etcd.improbable.io wants it named
    #[arg(long, value_name = "NAME")]
    storage_class: Option<String>,
    /// The Secret with the store's credentials, for backups and restores that name none: etcd.database.coreos.com wants it
    /// named
    #[arg(long, value_name = "NAME")]
    store_secret: Option<String>,
    /// How the objects are printed: as YAML, or as one JSON document
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What files leave open.
#[derive(Clone, Copy, Debug, Default)]
struct Defaults<'a> {
    storage_class: Option<&'a str>,
    store_secret: Option<&'a str>,
}

/// Objects, and what of the file is not in them.
#[derive(Debug, Default)]
struct Converted {
    objects: Vec<Value>,
    left: Vec<Remark>,
}

/// Something about one object.
#[derive(Debug)]
struct Remark {
    object: String,
    about: NotCarried,
}

/// Converts and prints. Where one object is refused nothing is printed.
///
/// # Errors
/// When the file cannot be read, has objects of neither dialect or of both, or has one that cannot be said in the other.
pub fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    let ConvertArgs {
        filename,
        storage_class,
        store_secret,
        output,
    } = args;
    let defaults = Defaults {
        storage_class: storage_class.as_deref(),
        store_secret: store_secret.as_deref(),
    };
    let documents = documents::read(filename)?;
    let Converted { objects, left } = converted(filename, documents, defaults)?;
    for Remark { object, about } in left {
        output::note(format_args!(
            "not carried over: {object}, {}: {}",
            about.field, about.why
        ));
    }
    match output {
        Format::Text => {
            let mut text = String::new();
            for object in &objects {
                text.push_str("---\n");
                text.push_str(&serde_yaml::to_string(object)?);
            }
            output::print(text)?;
        }
        Format::Json => match objects.as_slice() {
            [object] => output::print_json(object)?,
            objects => {
                output::print_json(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))?
            }
        },
    }
    Ok(())
}

fn converted(
    file: &Path,
    documents: Vec<Value>,
    defaults: Defaults<'_>,
) -> anyhow::Result<Converted> {
    let shown = file.display();
    let objects = object::all(documents).map_err(|why| anyhow::anyhow!("{shown}: {why}"))?;
    let has = |wanted: Side| objects.iter().any(|object| object.side() == Some(wanted));
    let side = match (has(Side::Coreos), has(Side::Improbable)) {
        (true, false) => Side::Coreos,
        (false, true) => Side::Improbable,
        (false, false) => bail!(
            "{shown} has no object of etcd.database.coreos.com/v1beta2 or of etcd.improbable.io/v1alpha1, so there is nothing to convert"
        ),
        (true, true) => bail!(
            "{shown} has objects of both etcd.database.coreos.com/v1beta2 and etcd.improbable.io/v1alpha1. Convert one of them at a time"
        ),
    };
    let mut converted = Converted::default();
    let mut refused = Vec::new();
    for object in &objects {
        let one = match (&object.dialect, side) {
            (Dialect::Other, _) => {
                converted.objects.push(object.value.clone());
                continue;
            }
            (Dialect::Improbable(kind), _) => from::from(*kind, object, defaults),
            (Dialect::Coreos(kind), _) => to::to(*kind, object, &objects, defaults),
        };
        match one {
            Ok(one) => {
                converted.objects.extend(one.objects);
                converted.left.extend(one.left);
            }
            Err(why) => refused.extend(
                why.into_iter()
                    .map(|why| format!("{}, {why}", object.shown())),
            ),
        }
    }
    ensure!(
        refused.is_empty(),
        "{shown} cannot be said in {}, and nothing is printed:\n  {}",
        side.other().api_version(),
        refused.join("\n  ")
    );
    Ok(converted)
}

#[cfg(test)]
mod tests;
