//! `binnacle module inspect`: what a module is, and whether this host would use it.

use std::path::PathBuf;

use contract::Description;
use serde::Serialize;

use crate::error::Chain;
use crate::module::{Anatomy, Engine, Error, Module, Source, cache_directory, digest};
use crate::output::{self, Format};

/// Arguments of `binnacle module inspect`.
#[derive(Debug, clap::Args)]
pub struct InspectArgs {
    /// The module; without it, the one that ships with this Binnacle.
    file: Option<PathBuf>,
    /// How the answer is printed.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// What is known of a module.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Findings {
    file: String,
    digest: String,
    size: usize,
    imports: Vec<String>,
    exports: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Description>,
    /// Why this host would not use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Prints what the module is. True when this host would use it.
///
/// # Errors
/// When the file cannot be read, is not WebAssembly, or the answer cannot be printed.
pub fn inspect(args: &InspectArgs) -> anyhow::Result<bool> {
    let InspectArgs { file, output } = args;
    let Source { path, bytes } = Source::find(file.as_deref())?;
    let Anatomy {
        component: _,
        imports,
        exports,
    } = Anatomy::of(&bytes)?;
    let loaded = Engine::new(cache_directory(None).as_deref())
        .and_then(|engine| Module::load(&engine, &bytes));
    let (description, refused) = match loaded {
        Ok(module) => (Some(module.description().clone()), None),
        Err(error) => (None, Some(words(&error))),
    };
    let usable = refused.is_none();
    let findings = Findings {
        file: path.display().to_string(),
        digest: digest(&bytes),
        size: bytes.len(),
        imports,
        exports,
        description,
        refused,
    };
    match output {
        Format::Text => output::print(text(&findings))?,
        Format::Json => output::print_json(&findings)?,
    }
    Ok(usable)
}

fn words(error: &Error) -> String {
    Chain(error).to_string()
}

fn text(findings: &Findings) -> String {
    let Findings {
        file,
        digest,
        size,
        imports,
        exports,
        description,
        refused,
    } = findings;
    let listed = |names: &[String]| {
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    let mut rows = vec![
        ["File", file.as_str()].map(str::to_owned),
        ["Digest".to_owned(), digest.clone()],
        [
            "Size".to_owned(),
            format!("{} bytes", output::grouped(*size)),
        ],
        ["Imports".to_owned(), listed(imports)],
        ["Exports".to_owned(), listed(exports)],
    ];
    if let Some(description) = description {
        let Description {
            name,
            version,
            oldest_schema,
            newest_schema,
            decision_schema,
            minimum_host,
        } = description;
        rows.extend([
            ["Name".to_owned(), format!("{name} {version}")],
            [
                "Reads".to_owned(),
                format!(
                    "snapshots of schema {}",
                    range(*oldest_schema, *newest_schema)
                ),
            ],
            [
                "Writes".to_owned(),
                format!("decisions of schema {decision_schema}"),
            ],
            ["Needs".to_owned(), format!("host {minimum_host} or later")],
        ]);
    }
    rows.push(match refused {
        Some(why) => ["Refused".to_owned(), why.clone()],
        None => [
            "Usable".to_owned(),
            format!("yes, by this Binnacle {}", crate::VERSION),
        ],
    });
    output::table(&rows)
}

fn range(oldest: u32, newest: u32) -> String {
    if oldest == newest {
        oldest.to_string()
    } else {
        format!("{oldest} to {newest}")
    }
}
