//! How many simulated histories a minute there were, as their test tells it, and its place in `bench.json`.
//!
//! Runs nothing, and asserts nothing of the pace: that is the machine's as well.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The figure's name in `bench.json`.
pub const HISTORIES: &str = "histories_per_min";
/// What is aimed at: a hundred thousand within two minutes.
pub const AIM: f64 = 50_000.0;

/// The pace in what the test wrote, such as `100000 histories from seed 1 on in 115.1s: 52139 a minute`.
#[must_use]
pub fn told(text: &str) -> Option<f64> {
    let line = text
        .lines()
        .find(|line| line.contains(" histories from seed "))?;
    let (_, pace) = line.split_once("s: ")?;
    pace.strip_suffix(" a minute")?.parse().ok()
}

/// Writes the pace into this `bench.json` in place of an earlier one; other figures stay.
///
/// # Errors
/// The file is there and is no list of figures, or it cannot be written.
pub fn note(file: &Path, pace: f64) -> Result<()> {
    let mut figures: Vec<Value> = match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is no list of figures; delete it", file.display()))?,
        Err(_none_so_far) => Vec::new(),
    };
    figures.retain(|figure| figure["name"] != HISTORIES);
    figures.push(json!({
        "name": HISTORIES, "value": pace, "unit": "histories", "samples": [pace], "aim": {"atLeast": AIM},
    }));
    fs::write(file, serde_json::to_vec_pretty(&figures)?)
        .with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_read_from_what_the_test_tells_of_it() {
        let told_so = "running 1 test\n100000 histories from seed 1 on in 115.1s: 52139 a minute\ntest ... ok";
        assert_eq!(told(told_so), Some(52139.0));
        assert_eq!(told("53 histories with old snapshots: 7 a minute"), None);
    }

    #[test]
    fn a_pace_takes_the_place_of_the_one_before_and_of_no_other_figure() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("bench.json");
        note(&file, 1.0).expect("it is written");
        let other = json!([{"name": "other", "value": 3.0}, {"name": HISTORIES, "value": 1.0}]);
        fs::write(&file, other.to_string()).expect("a file");
        note(&file, 2.0).expect("it is written");
        let figures: Value =
            serde_json::from_slice(&fs::read(&file).expect("a file")).expect("JSON");
        assert_eq!(figures.as_array().map(Vec::len), Some(2));
        assert_eq!(
            (&figures[0]["name"], &figures[1]["value"]),
            (&json!("other"), &json!(2.0))
        );
    }
}
