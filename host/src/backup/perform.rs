//! Effects on backups: status, transfers that begin, objects that are deleted, finalizers that go.
//!
//! A transfer is begun here and goes on beside the passes.

use std::sync::Arc;
use std::time::Instant;

use contract::{BackupEffect, Condition, Preconditions, RestoreEffect, Take};

use super::store::Store;
use super::{Sight, cluster, rehearsal, transfer, transfers};
use crate::execute::kubernetes;
use crate::execute::{Error, Executor, Pass};
use crate::observe::{Memory, WrittenObject};
use crate::refused;

/// Carries an effect out.
pub(crate) async fn perform(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    effect: &BackupEffect,
    memory: &mut Memory,
) -> Result<(), Error> {
    let (uid, transfers) = (pass.resource.uid.as_str(), &executor.transfers);
    match effect {
        BackupEffect::UpdateStatus { status } => {
            let mut status = status.clone();
            status.decided_by = Some(pass.module.to_owned());
            without_the_hosts(&mut status.conditions);
            let version = kubernetes::write_status(executor, pass, pre, &*status).await?;
            remember(memory, version);
        }
        BackupEffect::Take(Take {
            run,
            endpoint,
            key,
            within,
            witness,
        }) => {
            let store = store(&memory.sight)?;
            let witness = *witness;
            let member = memory.sight.ways.get(endpoint).cloned();
            let member =
                member.ok_or_else(|| rejected(format!("there is no way to {endpoint}")))?;
            let (object, id) = (key.clone(), run.clone());
            let (progress, span) = (Arc::clone(&store.progress), transfers::span(*within));
            let moving =
                async move { transfer::take(&member, &store, &object, &id, witness).await };
            transfers.begin(pass.key, uid, run, span, progress, moving);
        }
        BackupEffect::Verify { run, key, within } => {
            let (store, object) = (store(&memory.sight)?, key.clone());
            let (progress, span) = (Arc::clone(&store.progress), transfers::span(*within));
            let moving = async move { transfer::verify(&store, &object).await };
            transfers.begin(pass.key, uid, run, span, progress, moving);
        }
        BackupEffect::Delete { key } => {
            store(&memory.sight)?.delete(key).await.map_err(rejected)?;
        }
        BackupEffect::Rehearse(wanted) => rehearsal::begin(executor, pass, wanted).await?,
        BackupEffect::EndRehearsal { run } => rehearsal::end(executor, pass, run).await?,
        BackupEffect::Hold { finalizer } => {
            let kept = pass.resource.finalizers.iter().chain([finalizer]);
            let version = kubernetes::set_finalizers(executor, pass, kept).await?;
            remember(memory, version);
        }
        BackupEffect::Release { finalizer } => {
            let of_others = pass.resource.finalizers.iter();
            let kept = of_others.filter(|name| *name != finalizer);
            let version = kubernetes::set_finalizers(executor, pass, kept).await?;
            remember(memory, version);
        }
    }
    Ok(())
}

/// Carries an effect on a restore out.
pub(crate) async fn prove(
    executor: &Executor,
    pass: &Pass<'_>,
    pre: &Preconditions,
    effect: &RestoreEffect,
    memory: &mut Memory,
) -> Result<(), Error> {
    match effect {
        RestoreEffect::UpdateStatus { status } => {
            let mut status = status.clone();
            status.decided_by = Some(pass.module.to_owned());
            without_the_hosts(&mut status.conditions);
            let version = kubernetes::write_status(executor, pass, pre, &*status).await?;
            remember(memory, version);
        }
        RestoreEffect::Prove { run, key, within } => {
            let (store, object) = (store(&memory.sight)?, key.clone());
            let (progress, span) = (Arc::clone(&store.progress), transfers::span(*within));
            let moving = async move { transfer::prove(&store, &object).await };
            let uid = pass.resource.uid.as_str();
            let transfers = &executor.transfers;
            transfers.begin(pass.key, uid, run, span, progress, moving);
        }
        RestoreEffect::CreateCluster { name, spec } => {
            cluster::make(executor, pass, name, spec).await?;
        }
    }
    Ok(())
}

/// What the host says of a module is not the module's to write.
fn without_the_hosts(conditions: &mut Vec<Condition>) {
    conditions.retain(|condition| !refused::is_hosts(condition));
}

fn remember(memory: &mut Memory, version: String) {
    let written = WrittenObject::Resource { version };
    memory.written.push(written, Instant::now());
}

fn store(sight: &Sight) -> Result<Store, Error> {
    let store = sight.store.clone();
    store.ok_or_else(|| rejected("the store was not opened".to_owned()))
}

const fn rejected(why: String) -> Error {
    Error::Rejected { why }
}
