//! The rules for a ReconcilerModule: one source, a digest for what acts, a selector for a Canary and for nothing else.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, ValidationRule,
};

use super::{at, rule};

/// A digest with its prefix.
const LONGEST_DIGEST: i64 = 71;
/// As the file system has it.
const LONGEST_PATH: i64 = 4096;
/// Registry, repository, tag and digest.
const LONGEST_REFERENCE: i64 = 512;
/// A key of the curve P-256 has a third of it.
const LONGEST_KEY: i64 = 1024;
/// The address of a workflow names a repository, a file and a branch.
const LONGEST_IDENTITY: i64 = 1024;
/// Of objects and of the keys in them.
const LONGEST_NAME: i64 = 253;
/// The API server wants to know beforehand how dear a rule can be.
const MOST_EXPRESSIONS: i64 = 16;

/// Puts every rule in its place.
pub(crate) fn add(schema: &mut JSONSchemaProps) {
    for (path, longest, rules) in [
        ("spec", None, spec()),
        ("spec.source", None, source()),
        ("spec.sha256", Some(LONGEST_DIGEST), sha256()),
        ("spec.source.file.path", Some(LONGEST_PATH), path()),
        (
            "spec.source.oci.reference",
            Some(LONGEST_REFERENCE),
            reference(),
        ),
        ("spec.signature", None, signature()),
        ("spec.signature.publicKey", Some(LONGEST_KEY), public_key()),
        (
            "spec.signature.identity.issuer",
            Some(LONGEST_IDENTITY),
            issuer(),
        ),
        (
            "spec.signature.identity.subject",
            Some(LONGEST_IDENTITY),
            subject(),
        ),
        ("spec.failureLimit", None, failure_limit()),
        (
            "spec.source.configMap.name",
            Some(LONGEST_NAME),
            object_name(),
        ),
        ("spec.source.configMap.key", Some(LONGEST_NAME), key()),
        (
            "spec.source.oci.pullSecret",
            Some(LONGEST_NAME),
            object_name(),
        ),
        (
            "spec.signature.configMap.name",
            Some(LONGEST_NAME),
            object_name(),
        ),
        ("spec.signature.configMap.key", Some(LONGEST_NAME), key()),
        (
            "spec.signature.secret.name",
            Some(LONGEST_NAME),
            object_name(),
        ),
        ("spec.signature.secret.key", Some(LONGEST_NAME), key()),
    ] {
        if let Some(found) = at(schema, path) {
            found.max_length = longest;
            found.x_kubernetes_validations = Some(rules);
        }
    }
    if let Some(found) = at(schema, "spec.clusters.matchExpressions") {
        found.max_items = Some(MOST_EXPRESSIONS);
        found.x_kubernetes_validations = Some(expressions());
    }
}

fn spec() -> Vec<ValidationRule> {
    vec![
        rule(
            "self.role == 'Shadow' || has(self.sha256) || has(self.source.builtIn)",
            "sha256 is required for a module that acts, so that nobody can exchange its bytes: `sha256sum FILE.wasm` tells it, \
             and `binnacle module pack FILE.wasm` writes it",
        ),
        rule(
            "self.role == 'Canary' ? has(self.clusters) && (has(self.clusters.matchLabels) || has(self.clusters.matchExpressions)) \
             : !has(self.clusters)",
            "clusters says by labels on which EtcdClusters a Canary decides: a Canary needs it, with matchLabels or \
             matchExpressions, and no other role has it",
        ),
        rule(
            "!has(self.signature) || !has(self.source.builtIn)",
            "signature is for modules from elsewhere: the built-in module is part of the operator",
        ),
    ]
}

fn source() -> Vec<ValidationRule> {
    vec![rule(
        "[has(self.builtIn), has(self.configMap), has(self.file), has(self.oci)].filter(given, given).size() == 1",
        "source names exactly one of builtIn, configMap, file and oci",
    )]
}

fn reference() -> Vec<ValidationRule> {
    vec![rule(
        "self.matches('^[A-Za-z0-9.-]+(:[0-9]+)?/[a-z0-9._/-]+(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[0-9a-f]{64})?$') \
         && (self.contains('@sha256:') || self.substring(self.lastIndexOf('/')).contains(':'))",
        "reference is REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:HEX; nothing is guessed of it",
    )]
}

fn signature() -> Vec<ValidationRule> {
    vec![rule(
        "[has(self.publicKey), has(self.configMap), has(self.secret), has(self.identity)].filter(given, given).size() == 1",
        "signature names exactly one of publicKey, configMap, secret and identity",
    )]
}

fn public_key() -> Vec<ValidationRule> {
    vec![rule(
        "self.startsWith('-----BEGIN PUBLIC KEY-----')",
        "publicKey is a public key in PEM, as cosign.pub has it, beginning with -----BEGIN PUBLIC KEY-----",
    )]
}

fn issuer() -> Vec<ValidationRule> {
    vec![rule(
        "self.startsWith('https://')",
        "issuer is the address of who vouches for the identity, beginning with https://, as `cosign verify` prints it",
    )]
}

fn subject() -> Vec<ValidationRule> {
    vec![rule(
        "self.size() > 0",
        "subject is who signs, an e-mail address or that of a workflow, as `cosign verify` prints it",
    )]
}

fn sha256() -> Vec<ValidationRule> {
    vec![rule(
        "self.matches('^(sha256:)?[0-9a-f]{64}$')",
        "sha256 is 64 digits of lower-case hex, with or without sha256: before them",
    )]
}

fn object_name() -> Vec<ValidationRule> {
    vec![rule(
        "self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",
        "the name of an object has a-z, 0-9, dashes and dots, and begins and ends with a letter or a digit",
    )]
}

fn key() -> Vec<ValidationRule> {
    vec![rule(
        "self.matches('^[-._a-zA-Z0-9]+$')",
        "a key of a ConfigMap or a Secret has letters, digits, dashes, underscores and dots",
    )]
}

fn expressions() -> Vec<ValidationRule> {
    vec![rule(
        "self.all(one, one.operator in ['In', 'NotIn'] ? has(one.values) && one.values.size() > 0 \
         : one.operator in ['Exists', 'DoesNotExist'] && (!has(one.values) || one.values.size() == 0))",
        "the operator of an expression is In or NotIn, with values, or Exists or DoesNotExist, without any",
    )]
}

fn path() -> Vec<ValidationRule> {
    vec![rule(
        "self.startsWith('/') && self.endsWith('.wasm')",
        "path is absolute, in the operator's pod, and ends in .wasm",
    )]
}

fn failure_limit() -> Vec<ValidationRule> {
    vec![rule(
        "self >= 0 && self <= 1000",
        "failureLimit is how many failures within ten minutes are borne, 0 to 1000",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    /// A rule whose place is gone would be lost without a word.
    #[test]
    fn every_rule_has_found_its_place() {
        let crd = serde_json::to_string(&crd::reconciler_module().expect("a CRD")).expect("JSON");
        for rule in [
            spec(),
            source(),
            sha256(),
            path(),
            reference(),
            signature(),
            public_key(),
            issuer(),
            subject(),
            failure_limit(),
            object_name(),
            key(),
            expressions(),
        ]
        .concat()
        {
            let text = serde_json::to_string(&rule.rule).expect("JSON");
            assert!(crd.contains(&text), "{text} is nowhere");
        }
    }
}
