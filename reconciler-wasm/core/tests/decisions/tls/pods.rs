//! TLS turned on and off where members have their data in their pods: each is replaced by one that is reached as the turn asks.

use super::*;

/// Where peers reach the member that is added in place of another one.
fn added(world: World) -> String {
    let decision = world.later(60).decide();
    let mut effects = decision.actions.iter().map(|action| &action.effect);
    let url = effects.find_map(|effect| match effect {
        Effect::AddLearner { peer_urls, .. } => Some(peer_urls[0].clone()),
        _ => None,
    });
    url.expect("one is added")
}

/// Reached by TLS alone it would be replaced for ever, as the simulator shows.
#[test]
fn turned_off_whoever_comes_is_reached_without_certificates() {
    let url = added(living().on_empty_dir().spec("TLS", Value::Null));
    assert!(url.starts_with("http://"), "{url}");
}

#[test]
fn turned_on_whoever_comes_is_reached_without_certificates_until_all_speak_both() {
    let plain = asking(healthy(3), OLD).spec("TLS", Value::Null).settle();
    let mut begun = plain.on_empty_dir().spec("TLS", tls());
    let first = added(begun.clone());
    assert!(first.starts_with("http://"), "{first}");
    for pod in begun.pods() {
        pod.peer_secret = Some("peers".to_owned());
    }
    let next = added(begun);
    assert!(next.starts_with("https://"), "{next}");
}
