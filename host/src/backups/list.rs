//! `binnacle backup ls`: what is stored, the newest last.

use serde::Serialize;

use super::{Opened, Whose};
use crate::backup::Entry;
use crate::output::{self, Format, grouped};
use crate::run::runtime;

/// Arguments of `binnacle backup ls`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    whose: Whose,
    /// How the list is printed
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// One line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    key: String,
    bytes: i64,
    /// etcd's revision, where the name says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
    /// When it was taken, where the name says it; in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<String>,
}

/// Lists.
///
/// # Errors
/// The object, its Secret or the store cannot be read.
pub fn list(args: ListArgs) -> anyhow::Result<()> {
    let ListArgs { whose, output } = args;
    let entries = runtime()?.block_on(async {
        let Opened { archive, .. } = whose.open().await?;
        archive.list().await
    })?;
    let rows: Vec<Row> = entries.into_iter().map(row).collect();
    match output {
        Format::Text if rows.is_empty() => output::note("Nothing is stored yet."),
        Format::Text => output::print(text(&rows))?,
        Format::Json => output::print_json(&rows)?,
    }
    Ok(())
}

fn row(entry: Entry) -> Row {
    let Entry { key, bytes, named } = entry;
    let (revision, taken) =
        named.map_or((None, None), |named| (Some(named.revision), Some(named.at)));
    Row {
        key,
        bytes,
        revision,
        taken,
    }
}

fn text(rows: &[Row]) -> String {
    let heading = ["REVISION", "TAKEN (UTC)", "BYTES", "KEY"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        [
            or_dash(row.revision.map(|revision| revision.to_string())),
            or_dash(row.taken.clone()),
            grouped(usize::try_from(row.bytes).unwrap_or_default()),
            row.key.clone(),
        ]
    });
    let rows: Vec<_> = std::iter::once(heading).chain(cells).collect();
    output::table(&rows)
}

#[cfg(test)]
mod tests {
    use contract::BackupKey;

    use super::*;

    #[test]
    fn a_backup_that_was_taken_once_has_dashes_for_what_its_name_does_not_say() {
        let entry = |key: &str| Entry {
            key: key.to_owned(),
            bytes: 20_512,
            named: BackupKey::of(key, "etcd.backup"),
        };
        let rows = [
            row(entry("etcd.backup")),
            row(entry("etcd.backup_v7_2026-11-21-17:00:00")),
        ];
        assert_eq!(
            text(&rows),
            "REVISION  TAKEN (UTC)          BYTES   KEY\n\
             -         -                    20,512  etcd.backup\n\
             7         2026-11-21-17:00:00  20,512  etcd.backup_v7_2026-11-21-17:00:00\n"
        );
    }
}
