//! Generates the YAML.
fn main() {}
