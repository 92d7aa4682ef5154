//! Snapshots that no history reached: something dropped, swapped, aged, hidden or made up.
//!
//! What is changed follows from the snapshot's own entropy and the variant, so that each can be made again.

use contract::{Endpoint, ForeignObject, Millis, ObjectKind, Observed, Snapshot};
use serde_json::{Value, json};

/// A variant of a snapshot: one to four changes.
pub(super) fn mutated(snapshot: &Snapshot, variant: u64) -> Snapshot {
    let digits = snapshot.entropy.get(..15).unwrap_or("0");
    let drawn = u64::from_str_radix(digits, 16).unwrap_or_default();
    let mut rng = fastrand::Rng::with_seed(drawn ^ variant.wrapping_mul(0x9e37_79b9));
    let mut strange = snapshot.clone();
    for _ in 0..rng.u8(1..=4) {
        change(&mut strange, &mut rng);
    }
    strange
}

fn change(snapshot: &mut Snapshot, rng: &mut fastrand::Rng) {
    let unknown = || "no answer".to_owned();
    match rng.u8(0..18) {
        0 => drop_one(&mut snapshot.objects.pods, rng),
        1 => drop_one(&mut snapshot.objects.volumes, rng),
        2 => drop_one(&mut snapshot.objects.services, rng),
        3 => drop_one(&mut snapshot.objects.disruption_budgets, rng),
        4 => snapshot.objects.pods = Observed::Unknown(unknown()),
        5 => snapshot.objects.volumes = Observed::Unknown(unknown()),
        6 => snapshot.etcd.membership = Observed::Unknown(unknown()),
        7 => snapshot.etcd.alarms = Observed::Unknown(unknown()),
        8 => {
            if let Some(endpoint) = one(&mut snapshot.etcd.endpoints, rng) {
                endpoint.status = Observed::Unknown(unknown());
            }
        }
        9 => swap_health(&mut snapshot.etcd.endpoints, rng),
        10 => {
            if let Observed::Seen(list) = &mut snapshot.etcd.membership
                && let Some(member) = one(&mut list.members, rng)
            {
                member.learner = !member.learner;
            }
        }
        11 => {
            if let Observed::Seen(list) = &mut snapshot.etcd.membership {
                let kept = rng.usize(0..=list.members.len());
                list.members.truncate(kept);
            }
        }
        12 => snapshot.now = Millis(snapshot.now.0 + rng.i64(0..2_000_000)),
        13 => snapshot.resource.spec["size"] = odd_value(rng),
        14 => snapshot.resource.status = Value::Null,
        15 => {
            if let Value::Object(status) = &mut snapshot.resource.status {
                let keys: Vec<String> = status.keys().cloned().collect();
                if let Some(key) = rng.choice(&keys) {
                    status.insert(key.clone(), odd_value(rng));
                }
            }
        }
        16 => snapshot.objects.foreign.push(ForeignObject {
            kind: ObjectKind::Service,
            name: format!("{}-client", snapshot.resource.name),
            owner: "Deployment other".to_owned(),
        }),
        _ => snapshot.resource.deleted = Some(snapshot.now),
    }
}

fn drop_one<T>(list: &mut Observed<Vec<T>>, rng: &mut fastrand::Rng) {
    if let Observed::Seen(list) = list
        && !list.is_empty()
    {
        list.remove(rng.usize(0..list.len()));
    }
}

fn one<'a, T>(list: &'a mut [T], rng: &mut fastrand::Rng) -> Option<&'a mut T> {
    let index = (!list.is_empty()).then(|| rng.usize(0..list.len()))?;
    list.get_mut(index)
}

/// One member's answer comes from another one's address.
fn swap_health(endpoints: &mut [Endpoint], rng: &mut fastrand::Rng) {
    if endpoints.len() < 2 {
        return;
    }
    let other = rng.usize(1..endpoints.len());
    let answer = endpoints[0].status.clone();
    endpoints[0].status = std::mem::replace(&mut endpoints[other].status, answer);
}

/// What an API client may store where nothing validates.
fn odd_value(rng: &mut fastrand::Rng) -> Value {
    match rng.u8(0..8) {
        0 => json!(rng.i64(-2..9)),
        1 => json!(i64::MAX),
        2 => json!("three"),
        3 => json!([]),
        4 => json!({}),
        5 => json!(true),
        6 => json!(1.5),
        _ => Value::Null,
    }
}
