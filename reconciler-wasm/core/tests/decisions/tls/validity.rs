//! Until when certificates are valid, and what is said of their end.

use super::*;

fn certificates(decision: &Decision) -> contract::Condition {
    let conditions = written(decision).unwrap().conditions;
    let found = conditions
        .into_iter()
        .find(|one| one.kind == "CertificatesValid");
    found.unwrap()
}

#[test]
fn the_status_tells_until_when_each_certificate_is_valid() {
    let decision = living().settle().later(0).decide();
    assert_eq!(decision.actions, [], "and says it once");
    let status = living().status;
    let listed: Vec<String> = status
        .certificates
        .iter()
        .map(|record| format!("{} {}", record.secret, record.key))
        .collect();
    let wanted = [
        "peers peer.crt",
        "peers peer-ca.crt",
        "servers server.crt",
        "servers server-ca.crt",
        "operator etcd-client.crt",
        "operator etcd-client-ca.crt",
    ];
    assert_eq!(listed, wanted);
    assert_eq!(status.certificates[0].not_after, "2027-09-14T11:06:40Z");
    let condition = status
        .conditions
        .iter()
        .find(|one| one.kind == "CertificatesValid");
    assert_eq!(condition.unwrap().status, ConditionStatus::True);
}

#[test]
fn a_certificate_that_ends_soon_is_told_once_and_stops_nothing() {
    let mut world = living();
    let soon = Millis(world.snapshot.now.0 + 60 * DAY);
    let begin = Millis(world.snapshot.now.0 - 300 * DAY);
    edit(&mut world, "servers", |secret| {
        secret.not_before.insert("server.crt".to_owned(), begin);
        secret.not_after.insert("server.crt".to_owned(), soon);
    });
    let decision = world.decide();
    let condition = certificates(&decision);
    assert_eq!(condition.status, ConditionStatus::False);
    assert_eq!(condition.reason, "CertificateExpiring");
    assert!(
        condition
            .message
            .contains("key server.crt of Secret servers")
    );
    let events = decision.actions.iter().filter(|action| {
        matches!(&action.effect, Effect::Event { reason, .. } if reason == "CertificateExpiring")
    });
    assert_eq!(events.count(), 1);
    let world = world.settle();
    assert_eq!(
        world.decide().actions,
        [],
        "a cluster at rest stays at rest"
    );
    assert!(
        effects(&world.wanting(5).decide())
            .iter()
            .any(|effect| effect.starts_with("AddLearner"))
    );
}

#[test]
fn plain_clusters_have_no_word_on_certificates() {
    let status = healthy(3).status;
    assert!(status.certificates.is_empty());
    assert!(
        !status
            .conditions
            .iter()
            .any(|one| one.kind == "CertificatesValid")
    );
}
