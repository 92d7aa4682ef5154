//! Generated files are those that the generator would write now.

use crate::repository::{assert_none, root};

#[test]
fn generated_yaml_is_fresh() {
    let stale = manifests::stale(&root()).expect("the generated files can be compared");
    let stale: Vec<_> = stale
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    assert_none(&stale, "files that `make generate` would change");
}
