//! Generated files are those that the generator would write now.

use crate::repository::{assert_none, root};

#[test]
fn generated_yaml_is_fresh() {
    let stale = manifests::stale(&root()).expect("the generated files can be compared");
    let stale: Vec<_> = stale.iter().map(ToString::to_string).collect();
    assert_none(&stale, "files that `make generate` would change");
}

/// What a published bundle or the catalog lacks is found here, before a validator or OLM refuses it.
#[test]
fn bundles_and_catalog_keep_the_rules_of_olm() {
    let faults = manifests::judge(&root()).expect("bundles and catalog can be read");
    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_none(&faults, "what OLM or a catalog would refuse");
}
