//! An EtcdBackup that what is hard to take back waits for: when it is asked, and what its store lets it say.
//!
//! Takes the backup that the cluster's status asks for, as soon as the store and a quorum answer, which takes its time. Who
//! waits for it, and for how long, is the module's.

use contract::{
    BackupBefore, BackupRun, EtcdBackupStatus, EtcdClusterStatus, Millis, Observed, Resource,
    RiskyAct,
};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use crate::plan::Fault;
use crate::timers::Timer;
use crate::world::{NAME, World};

/// How soon one that failed is taken again.
const AGAIN: i64 = 60_000;
/// What one takes at most.
const LONGEST: i64 = 30_000;

/// The EtcdBackup that guards the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// As the operator sees it.
    pub(crate) api: Resource,
    /// When it was created.
    since: i64,
    /// When it last began a backup that came to be stored.
    saved: Option<i64>,
    /// When its status says that this one ended, and how long it took.
    told: Option<(i64, i64)>,
    /// When the one under way began.
    run: Option<i64>,
    /// It is about to be taken, or to end.
    busy: bool,
}

impl World {
    /// Somebody creates it. There is one at most.
    pub(crate) fn guard(&mut self) {
        if self.guard.is_some() {
            return;
        }
        let api = Resource {
            api_version: format!("{}/{}", contract::GROUP, contract::VERSION),
            kind: "EtcdBackup".to_owned(),
            namespace: "ns".to_owned(),
            name: "guard".to_owned(),
            uid: "uid-guard".to_owned(),
            resource_version: self.kube.number().to_string(),
            generation: 1,
            created: Millis(self.clock().0),
            spec: json!({
                "clusterRef": {"name": NAME}, "storageType": "S3",
                "s3": {"path": "bucket/guard", "awsSecret": "aws"},
                "backupPolicy": {"before": ["upgrade", "scaleToZero", "restore"]},
            }),
            status: json!({}),
            ..Resource::default()
        };
        self.put_guard(api);
        self.changed = true;
    }

    /// The first of those that are there, and what the cluster waits for already.
    pub(crate) fn guard_as_found(
        &mut self,
        guards: &Observed<Vec<Resource>>,
        status: &EtcdClusterStatus,
    ) {
        if let Some(first) = guards.seen().and_then(|guards| guards.first()) {
            self.put_guard(first.clone());
            self.follow_wish(status);
        }
    }

    fn put_guard(&mut self, api: Resource) {
        self.guard = Some(Guard {
            api,
            since: self.now,
            saved: None,
            told: None,
            run: None,
            busy: false,
        });
    }

    /// A new status of the cluster may ask for a backup.
    pub(crate) fn follow_wish(&mut self, status: &EtcdClusterStatus) {
        if let Some(guard) = self.guard.as_mut().filter(|guard| !guard.busy)
            && status.backup_before.is_some()
        {
            guard.busy = true;
            self.after(200, 4_000, Timer::Guard);
        }
    }

    /// It is taken, or fails and is taken again, as long as it is asked for and was not taken since. All times but ours are
    /// the operator's clock's.
    pub(crate) fn take_before(&mut self) {
        let wish = self.kube.resource.status.get("backupBefore").cloned();
        let wish = wish.and_then(|wish| serde_json::from_value::<BackupBefore>(wish).ok());
        let asked = wish.and_then(|wish| wish.since.parse::<Timestamp>().ok());
        let clock = self.clock().0 + self.off;
        let Some(guard) = &mut self.guard else {
            return;
        };
        guard.busy = false;
        if let Some(began) = guard.run.take() {
            self.stored_before(began);
            return;
        }
        let Some(since) = asked.map(Timestamp::as_millisecond) else {
            return;
        };
        if guard
            .told
            .is_some_and(|(ended, took)| ended - took >= since + 1000)
        {
            return;
        }
        // One that does not count by a clock that fell behind.
        let stored = guard
            .told
            .filter(|(ended, _)| clock < since && (0..AGAIN).contains(&(clock - ended)));
        let wait = match stored {
            Some((ended, _)) => ended + AGAIN - clock,
            None if (since..since + 2000).contains(&clock) => since + 2000 - clock,
            None => 0,
        };
        guard.busy = true;
        if wait > 0 {
            self.timers.set(self.now + wait, Timer::Guard);
        } else if self.store && self.back_up() {
            self.begin_before(clock);
        } else {
            self.timers.set(self.now + AGAIN, Timer::Guard);
            self.guard_says(|status| {
                status.succeeded = false;
                status.reason = "the store is away".to_owned();
                status.last_failure_date = spell(clock);
            });
            self.tell(|_| "      the backup that is waited for is not to be had".to_owned());
        }
    }

    fn begin_before(&mut self, clock: i64) {
        let Some(guard) = &mut self.guard else {
            return;
        };
        guard.run = Some(self.now);
        self.guard_says(|status| {
            status.run = Some(BackupRun {
                started_at: spell(clock).unwrap_or_default(),
                ..BackupRun::default()
            });
        });
        self.after(200, LONGEST, Timer::Guard);
        self.tell(|_| "      the backup that is waited for begins".to_owned());
    }

    fn stored_before(&mut self, began: i64) {
        let (clock, took) = (self.clock().0 + self.off, self.now - began);
        let Some(guard) = &mut self.guard else {
            return;
        };
        guard.saved = Some(began);
        // Times in a status are of whole seconds.
        guard.told = Some((clock.div_euclid(1000) * 1000, took));
        // Another may be asked for by now.
        guard.busy = true;
        self.after(200, 4_000, Timer::Guard);
        self.guard_says(|status| {
            *status = EtcdBackupStatus {
                succeeded: true,
                last_success_date: spell(clock),
                duration_milliseconds: Some(took),
                last_failure_date: status.last_failure_date.take(),
                ..EtcdBackupStatus::default()
            };
        });
        self.tell(|_| "      the backup that is waited for is taken".to_owned());
    }

    fn guard_says(&mut self, what: impl FnOnce(&mut EtcdBackupStatus)) {
        let number = self.kube.number();
        if let Some(guard) = &mut self.guard {
            let mut status = serde_json::from_value(guard.api.status.take()).unwrap_or_default();
            what(&mut status);
            guard.api.status = json!(status);
            guard.api.resource_version = number.to_string();
        }
        self.changed = true;
    }

    /// Whether the operator's clock was behind at some time since. What it dates then is taken for older once the clock is
    /// right again, by nobody's fault.
    fn was_behind_since(&self, since: i64) -> bool {
        self.plan.faults.iter().any(|planned| {
            matches!(planned.fault, Fault::Clock(off) if off < 0)
                && planned.ends() > since
                && planned.at <= self.now
        })
    }

    /// Before which act there is no backup that was taken since the guard was there; for a restore, since it was asked for.
    pub(crate) fn unsaved(&self, restore: Option<&str>) -> Vec<RiskyAct> {
        let Some(guard) = &self.guard else {
            return Vec::new();
        };
        let saved_since = |at: i64| guard.saved.is_some_and(|saved| saved >= at);
        let mut unsaved = Vec::new();
        if !saved_since(guard.since) {
            unsaved.extend([RiskyAct::Upgrade, RiskyAct::ScaleToZero]);
        }
        let asked = self
            .restores
            .iter()
            .find(|one| restore == Some(one.uid.as_str()))
            .map(|one| one.created.0 - self.epoch);
        // What was asked for before there was a guard may have begun before it.
        let may_be_told = |asked: &i64| *asked >= guard.since && !self.was_behind_since(*asked);
        if asked
            .filter(may_be_told)
            .is_some_and(|asked| !saved_since(asked))
        {
            unsaved.push(RiskyAct::Restore);
        }
        unsaved
    }
}

fn spell(at: i64) -> Option<String> {
    let at = Timestamp::from_second(at.div_euclid(1000)).ok()?;
    Some(at.to_string())
}
