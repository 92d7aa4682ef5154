//! Certificates made for the test, good and bad.

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::*;

const NOW: Millis = Millis(1_795_000_000_000);

struct Made {
    certificate: String,
    key: String,
}

fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate.pem(), Issuer::new(params, key))
}

fn leaf(issuer: &Issuer<'static, KeyPair>, usages: &[ExtendedKeyUsagePurpose]) -> Made {
    let key = KeyPair::generate().expect("a key");
    let names = ["*.shop.prod.svc".to_owned(), "10.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).expect("names");
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params.extended_key_usages = usages.to_vec();
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    Made {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    }
}

#[test]
fn a_certificate_tells_its_dates_and_names() {
    let (_, issuer) = authority();
    let facts = chain(leaf(&issuer, &[]).certificate.as_bytes()).expect("facts");
    assert_eq!(facts.not_before, Millis(1_767_225_600_000));
    assert_eq!(facts.not_after, Millis(1_798_761_600_000));
    assert_eq!(facts.names, ["*.shop.prod.svc", "10.0.0.1"]);
}

#[test]
fn a_chain_ends_with_its_first_and_authorities_with_their_last() {
    let (ca, issuer) = authority();
    let both = format!("{}{ca}", leaf(&issuer, &[]).certificate);
    let end = |facts: Result<Facts, Error>| facts.expect("facts").not_after;
    assert_eq!(end(chain(both.as_bytes())), Millis(1_798_761_600_000));
    assert!(end(authorities(both.as_bytes())) > Millis(1_798_761_600_000));
}

#[test]
fn what_is_no_certificate_is_said_to_be_none() {
    for nonsense in [&b""[..], b"hello", b"-----BEGIN CERTIFICATE-----\nAAAA"] {
        assert_eq!(
            chain(nonsense),
            Err(Error::Pem {
                what: "certificate"
            })
        );
    }
    let empty = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(chain(empty), Err(Error::Malformed { .. })));
}

#[test]
fn a_key_of_another_certificate_is_told_from_the_own() {
    let (_, issuer) = authority();
    let (own, other) = (leaf(&issuer, &[]), leaf(&issuer, &[]));
    let check = |key: &str| key_matches(own.certificate.as_bytes(), key.as_bytes(), "tls.crt");
    assert_eq!(check(&own.key), Ok(()));
    let certificate = "tls.crt";
    assert_eq!(check(&other.key), Err(Error::OtherKey { certificate }));
    let what = "private key";
    assert_eq!(check(&own.certificate), Err(Error::Pem { what }));
}

#[test]
fn a_certificate_of_another_authority_or_use_is_not_vouched_for() {
    let (ca, issuer) = authority();
    let (other, _) = authority();
    let made = leaf(&issuer, &[ExtendedKeyUsagePurpose::ServerAuth]);
    let check = |ca: &str, usage, now| {
        let certificate = made.certificate.as_bytes();
        is_vouched_for(
            certificate,
            ca.as_bytes(),
            "key ca.crt of Secret s",
            usage,
            now,
        )
    };
    assert_eq!(check(&ca, Usage::Server, NOW), Ok(()));
    let both = format!("{other}{ca}");
    assert_eq!(
        check(&both, Usage::Server, NOW),
        Ok(()),
        "one of two is enough"
    );
    let words = |refused: Result<(), Error>| refused.expect_err("a refusal").to_string();
    assert_eq!(
        words(check(&other, Usage::Server, NOW)),
        "key ca.crt of Secret s, by which it will be verified, does not vouch for it (it comes from another authority)"
    );
    assert!(words(check(&ca, Usage::Client, NOW)).contains("extended key usage"));
    let late = Millis(NOW.0 * 2);
    assert_eq!(
        check(&ca, Usage::Server, late),
        Ok(()),
        "its dates tell that"
    );
}
