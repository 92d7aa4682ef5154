//! Every judgement of Binnacle: one snapshot in, one decision out.
//!
//! Owns what is done and why. It performs nothing, reads no clock and keeps no memory: what it must remember
//! stands in the resource's status, what it may know stands in the snapshot.

mod assess;
mod backup;
mod build;
mod clock;
mod course;
mod entropy;
mod memory;
mod pre;
mod quorum;
mod restore;
mod schedule;
mod status;
mod step;
mod store;
mod stored;
mod tls;
mod validate;

use contract::{
    Decision, Description, Effect, Finding, FindingKind, Reason, Requeue, ResourceKind, SCHEMA,
    Snapshot,
};

use crate::step::Step;

/// What this module says of itself before it is used.
#[must_use]
pub fn describe() -> Description {
    Description {
        name: "binnacle".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        oldest_schema: SCHEMA,
        newest_schema: SCHEMA,
        decision_schema: SCHEMA,
        minimum_host: "0.1.0".to_owned(),
    }
}

/// Answers one snapshot with one decision. Total: every input has an answer.
pub fn reconcile(snapshot: &Snapshot) -> Decision {
    match ResourceKind::of(&snapshot.resource.kind) {
        Some(ResourceKind::EtcdCluster) => cluster(snapshot),
        Some(ResourceKind::EtcdBackup) => backup::decide(snapshot),
        Some(ResourceKind::EtcdRestore) => restore::decide(snapshot),
        Some(ResourceKind::EtcdBackupSchedule) => schedule::decide(snapshot),
        None => decide(Step::report(Finding {
            kind: FindingKind::Invalid,
            reason: Reason::InvalidSpec,
            message: format!("Nothing is decided on the kind {}.", snapshot.resource.kind),
            member: None,
        })),
    }
}

/// Decides on a cluster.
///
/// # Flow
/// 1. `validate` turns the spec into a [`validate::Cluster`], or says what is invalid; a cluster that runs keeps its images then.
/// 2. `tls` says which certificates are in use and whether they work; `assess` joins spec, objects, member list and memory into a [`assess::Situation`].
/// 3. `step` picks at most one quorum-relevant step, with the harmless writes that accompany it.
/// 4. `status` renders all of it; a status that differs from the stored one is written before anything else.
fn cluster(snapshot: &Snapshot) -> Decision {
    let mut memory = match stored::remembered(&snapshot.resource, "a living cluster from a new one")
    {
        Ok(memory) => memory,
        Err(finding) => {
            let told = status::tell(&snapshot.resource, &finding);
            let mut step = Step::report(finding);
            step.actions.push(told);
            return decide(step);
        }
    };
    if snapshot.resource.deleted.is_some() {
        return decide(step::delete());
    }
    let dialect = snapshot.resource.dialect();
    let is_stored =
        !snapshot.resource.status.is_null() && !memory::set_right(&mut memory, snapshot.now);
    let followed = validate::validate(&snapshot.resource).or_else(|invalid| {
        let running = validate::as_it_runs(&snapshot.resource, &memory, &invalid);
        running.ok_or(invalid)
    });
    let mut cluster = match followed {
        Ok(cluster) => cluster,
        Err(mut invalid) => {
            invalid.message = dialect.in_its_words(invalid.message);
            let status = status::refused(snapshot, &memory, &invalid);
            let mut step = Step::report(invalid);
            status::write_if_changed(snapshot, &memory, is_stored, status, &mut step);
            // The API server may refuse the status of an object whose spec is of wrong types; the events must get out.
            step.actions
                .sort_by_key(|action| !matches!(action.effect, Effect::Event { .. }));
            return decide(step);
        }
    };
    step::inherit(&mut cluster, snapshot, &memory);
    cluster.tls = tls::of(&cluster, snapshot, &memory);
    let situation = assess::assess(&cluster, snapshot, &memory);
    step::refuse_zero(&mut cluster, &situation);
    let mut step = step::step(&cluster, &situation);
    step.say_in(dialect);
    let status = status::render(&cluster, &situation, &step);
    status::write_if_changed(snapshot, &memory, is_stored, status, &mut step);
    decide(step)
}

fn decide(step: Step) -> Decision {
    let Step {
        actions,
        requeue,
        findings,
        birth: _,
        sleep: _,
        recovery: _,
        restoration: _,
        backup_before: _,
        recreated: _,
        space_cure: _,
        moved: _,
        cluster_id: _,
        taking_over: _,
        authority_generation: _,
    } = step;
    debug_assert!(
        actions
            .iter()
            .filter(|action| matches!(action.effect, Effect::UpdateStatus { .. }))
            .count()
            <= 1,
        "one status a decision"
    );
    Decision {
        schema: SCHEMA,
        actions,
        requeue: requeue.map(|(after, why): (_, Reason)| Requeue { after, why }),
        report: contract::Report { findings },
    }
}
