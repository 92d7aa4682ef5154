//! Effects on a backup, in order, each after the envelope's leave on a fresh read; the operator may end after any of them.

use contract::{
    Action, BackupEffect, Effect, EtcdBackupStatus, OutcomeKind, PastOutcome, Resource, Take,
};
use serde_json::json;

use super::sight::{BUCKET, revision_of};
use super::{Keeping, Moving, Pod, Shelved};

impl Keeping {
    pub(super) fn execute(&mut self, actions: &[Action]) {
        for action in actions {
            if self.fails(25) {
                self.restart();
                return;
            }
            let done = match envelope::check(action, &self.fresh()) {
                Err(refusal) => Err((OutcomeKind::Refused, refusal.to_string())),
                Ok(()) => self
                    .effect(action)
                    .map_err(|why| (OutcomeKind::Failed, why)),
            };
            let (outcome, message) = done.err().unwrap_or((OutcomeKind::Done, String::new()));
            self.outcomes.push(PastOutcome {
                effect: action.effect.name().to_owned(),
                kind: action.effect.kind(),
                target: action.effect.target(),
                outcome,
                message,
            });
            if outcome != OutcomeKind::Done {
                return;
            }
        }
    }

    fn effect(&mut self, action: &Action) -> Result<(), String> {
        let Effect::Backup(effect) = &action.effect else {
            return Ok(());
        };
        match effect {
            BackupEffect::UpdateStatus { status } => {
                let version = self.resource.resource_version.clone();
                if action.pre.resource_version.as_ref() != Some(&version) {
                    return Err("the object has been modified".to_owned());
                }
                self.follow(status);
                let next = version.parse::<u64>().unwrap_or_default() + 1;
                self.resource.resource_version = next.to_string();
                self.resource.status = json!(status);
            }
            BackupEffect::Take(Take { run, key, .. }) => self.begin(run, key, false),
            BackupEffect::Verify { run, key, .. } => self.begin(run, key, true),
            BackupEffect::Delete { key } => {
                if self.is_away() {
                    return Err("the store is away".to_owned());
                }
                let own = revision_of(key);
                let taken = |key: &str| key.rsplit_once('_').map(|(_, at)| at.to_owned());
                let newest = self.objects.iter().all(|one| one.revision <= own)
                    || self.objects.iter().all(|one| taken(&one.key) <= taken(key));
                let is_running =
                    |pod: &Pod| pod.key == *key && pod.gone.is_none() && pod.ends > self.now;
                let rehearsed = self.pods.iter().any(is_running);
                let path = format!("{BUCKET}/{key}");
                let named = |one: &Resource| one.spec["s3"]["path"] == path.as_str();
                let restored = self.restores.iter().any(named);
                self.facts.push(Shelved::Deleted {
                    newest,
                    rehearsed,
                    restored,
                });
                self.objects.retain(|one| one.key != *key);
            }
            BackupEffect::Rehearse(wanted) => {
                if self.pods.iter().all(|pod| pod.run != wanted.run) {
                    let ends = self.now + self.rng.i64(1_000..20_000);
                    let is_evicted = self.fails(6);
                    self.pods.push(Pod {
                        run: wanted.run.clone(),
                        key: wanted.key.clone(),
                        ends,
                        is_evicted,
                        held: None,
                        gone: None,
                    });
                }
            }
            BackupEffect::EndRehearsal { run } => {
                let gone = self.now + self.rng.i64(0..5_000);
                let own = self.pods.iter_mut().find(|pod| pod.run == *run);
                if let Some(pod) = own.filter(|pod| pod.gone.is_none()) {
                    pod.gone = Some(gone);
                }
            }
            BackupEffect::Hold { .. } | BackupEffect::Release { .. } => {}
        }
        Ok(())
    }

    fn begin(&mut self, run: &str, key: &str, is_stored: bool) {
        self.moving = Some(Moving {
            run: run.to_owned(),
            key: key.to_owned(),
            revision: revision_of(key),
            ends: self.now + self.rng.i64(500..30_000),
            is_stored,
        });
    }

    /// A verdict that the new status tells.
    fn follow(&mut self, next: &EtcdBackupStatus) {
        let ended = next.rehearsal_run.as_ref().filter(|run| run.over);
        let before = self.status().rehearsal_run;
        let known = before.filter(|run| run.over).map(|run| run.id);
        let Some(run) = ended.filter(|run| known.as_ref() != Some(&run.id)) else {
            return;
        };
        let pod = self.pods.iter().find(|pod| pod.run == run.id);
        let verdict = next.rehearsal.as_ref().map(|told| told.verdict);
        self.facts.push(Shelved::Told {
            verdict: verdict.unwrap_or_default(),
            held: pod.and_then(|pod| pod.held),
        });
    }
}
