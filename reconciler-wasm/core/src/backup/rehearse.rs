//! Rehearsals: whether the newest backup restores, tried in a throw-away member that nobody reaches.
//!
//! # Flow
//! 1. `begin` writes the rehearsal into the status and has its pod made: fetch, restore, start etcd, ask it.
//! 2. `follow` sees how the pod gets on. What the restored member says of its keys must be what the member said that the
//!    backup was taken from: revision, number of keys, and hash where both have compacted their history as far.
//! 3. The outcome stands in the status, the pod is deleted, and the rehearsal is forgotten once it is gone.
//!
//! # Guarantees
//! Only a comparison that held counts as a proof. What could not be tried says nothing of the backup, and is tried again.

use contract::{
    BackupEffect, BackupKey, BackupView, ConditionStatus, Contents, Effect, EventType, FindingKind,
    Millis, Observed, OutcomeKind, Reason, Rehearsal, RehearsalRun, RehearsalState,
    RehearsalVerdict, Rehearse, names,
};

use super::course::Course;
use super::plan::{Plan, Rehearsals};
use super::run::{LATER, why_no_store};
use crate::entropy::Entropy;
use crate::{clock, pre};

/// The condition that says how the last try ended.
const RESTORABLE: &str = "Restorable";
/// How soon what could not be tried is tried again.
const AGAIN: Millis = Millis::seconds(3600);
/// How long what keeps one from beginning may last before it is looked at again.
const PATIENCE: Millis = Millis::seconds(30);

/// Attends the rehearsal under way, or begins the one that is due.
pub(super) fn attend(course: &mut Course<'_>, plan: &Plan, view: &BackupView) {
    match course.status.rehearsal_run.clone() {
        Some(run) => follow(course, plan, view, &run),
        None => {
            // What is being stored will be the newest.
            if course.status.run.is_none() && is_due(course, plan) {
                begin(course, plan, view);
            }
        }
    }
}

fn is_due(course: &mut Course<'_>, plan: &Plan) -> bool {
    let now = course.now();
    let Some(rehearsals) = &plan.rehearsals else {
        course.status.next_rehearsal = None;
        return false;
    };
    if newest(course, plan).is_none() {
        return false;
    }
    let status = &course.status;
    let is_new = status
        .rehearsal
        .as_ref()
        .is_none_or(|last| Some(&last.sha256) != status.sha256.as_ref());
    let untried = status
        .rehearsal
        .as_ref()
        .filter(|last| last.verdict == RehearsalVerdict::NotTried);
    // What a wrong clock told does not count.
    let since = untried.and_then(|last| clock::read(&last.at));
    let again = since.map(|at| Millis(at.0 + AGAIN.0).min(Millis(now.0 + AGAIN.0)));
    let next = match rehearsals {
        Rehearsals::Each if is_new => Some(now),
        Rehearsals::Each => None,
        Rehearsals::At(rhythm) => {
            let planned = status.next_rehearsal.as_deref().and_then(clock::read);
            let from_now_on = rhythm.after(now);
            let next = planned.filter(|next| rhythm.has(*next));
            let next = next.map_or(from_now_on, |next| next.min(from_now_on));
            course.status.next_rehearsal = Some(clock::spell(next));
            Some(next)
        }
    };
    let Some(next) = next.into_iter().chain(again).min() else {
        return false;
    };
    if next > now {
        course.look_again(Millis(next.0 - now.0), Reason::RehearsalWaiting);
    }
    next <= now
}

/// The newest backup of this place: its name in the bucket and its sha-256.
fn newest(course: &Course<'_>, plan: &Plan) -> Option<(String, String)> {
    let status = &course.status;
    let key = status
        .path
        .as_deref()?
        .strip_prefix(&format!("{}/", plan.place.bucket))?;
    is_own(plan, key).then_some((key.to_owned(), status.sha256.clone()?))
}

/// Whether a backup of that name is at the place that the spec names.
fn is_own(plan: &Plan, key: &str) -> bool {
    match plan.rhythm {
        None => key == plan.place.key,
        Some(_) => BackupKey::of(key, &plan.place.key).is_some(),
    }
}

fn begin(course: &mut Course<'_>, plan: &Plan, view: &BackupView) {
    let Some((key, sha256)) = newest(course, plan) else {
        return;
    };
    let missing = match why_no_store(course, plan) {
        Some((_, why)) => Some(why),
        None if course.snapshot.operator_image.is_none() => Some(
            "the operator does not know its own image, in which the backup is fetched. Start it with --operator-image or \
             BINNACLE_OPERATOR_IMAGE; the manifests do"
                .to_owned(),
        ),
        None => None,
    };
    if let Some(why) = missing {
        course.find(
            FindingKind::Waiting,
            Reason::RehearsalWaiting,
            format!("Whether the newest backup restores is not tried: {why}."),
        );
        course.look_again(PATIENCE, Reason::RehearsalWaiting);
        return;
    }
    let now = course.now();
    let run = RehearsalRun {
        id: Entropy::of(course.snapshot).token(),
        key,
        sha256,
        etcd_revision: course.status.etcd_revision,
        contents: course.status.contents.clone(),
        started_at: clock::spell(now),
        over: false,
    };
    if let Some(Rehearsals::At(rhythm)) = &plan.rehearsals {
        course.status.next_rehearsal = Some(clock::spell(rhythm.after(now)));
    }
    course.status.rehearsal_run = Some(run.clone());
    make_pod(course, plan, view, &run);
}

/// Has the pod of a rehearsal made. One that is there already stays as it is.
fn make_pod(course: &mut Course<'_>, plan: &Plan, view: &BackupView, run: &RehearsalRun) {
    let repository = view.repository.as_deref().filter(|name| !name.is_empty());
    let repository = repository.unwrap_or(names::DEFAULT_REPOSITORY);
    let rehearse = Rehearse {
        run: run.id.clone(),
        key: run.key.clone(),
        sha256: run.sha256.clone(),
        revision: run.contents.as_ref().map_or(0, |said| said.revision),
        image: format!("{repository}:v{}", course.status.etcd_version),
        operator_image: course.snapshot.operator_image.clone().unwrap_or_default(),
        within: plan.within,
    };
    push(course, run, BackupEffect::Rehearse(Box::new(rehearse)));
    doing(course, run, "its pod is being made");
}

fn push(course: &mut Course<'_>, run: &RehearsalRun, effect: BackupEffect) {
    let mut action = pre::action(&course.snapshot.resource, Effect::Backup(effect));
    action.pre.run = Some(run.id.clone());
    course.actions.push(action);
}

fn doing(course: &mut Course<'_>, run: &RehearsalRun, what: &str) {
    course.find(
        FindingKind::Doing,
        Reason::RehearsalUnderWay,
        format!("Whether {} restores is being tried: {what}.", run.key),
    );
    course.look_again(LATER, Reason::RehearsalUnderWay);
}

/// Follows the rehearsal in the status to its end.
fn follow(course: &mut Course<'_>, plan: &Plan, view: &BackupView, run: &RehearsalRun) {
    let started = clock::read(&run.started_at).unwrap_or_else(|| course.now());
    let is_late = course.now().since(started) >= plan.within;
    let pod = match &view.rehearsal {
        Observed::Unknown(why) => {
            doing(course, run, &format!("its pod could not be read ({why})"));
            return;
        }
        Observed::Absent if run.over => {
            course.status.rehearsal_run = None;
            // The next one may be due already.
            course.look_again(Millis(0), Reason::RehearsalWaiting);
            return;
        }
        Observed::Absent if is_late => {
            let why = refused(course).unwrap_or_else(|| "its pod was never there".to_owned());
            end(course, run, RehearsalVerdict::NotTried, &why, None);
            return;
        }
        Observed::Absent if !is_own(plan, &run.key) => {
            let why = "its pod was not there yet, and the spec names another place by now";
            end(course, run, RehearsalVerdict::NotTried, why, None);
            return;
        }
        Observed::Absent if course.snapshot.operator_image.is_none() => {
            let why =
                "its pod was not there yet, and the operator does not know its own image any more";
            end(course, run, RehearsalVerdict::NotTried, why, None);
            return;
        }
        Observed::Absent => {
            make_pod(course, plan, view, run);
            return;
        }
        Observed::Seen(pod) => pod,
    };
    if run.over {
        if !pod.deleted {
            let id = run.id.clone();
            push(course, run, BackupEffect::EndRehearsal { run: id });
        }
        doing(course, run, "it has ended, and its pod is being deleted");
        return;
    }
    match &pod.state {
        RehearsalState::Running { doing: what } if is_late => {
            let seconds = plan.within.0 / 1000;
            let why = format!("it took longer than {seconds} s; at last {what}");
            end(course, run, RehearsalVerdict::NotTried, &why, None);
        }
        RehearsalState::Running { doing: what } => doing(course, run, what),
        RehearsalState::Answered { contents, took } => {
            let seen = Some((contents, *took));
            match why_another(run, contents) {
                None => end(course, run, RehearsalVerdict::Restores, "", seen),
                Some(why) => end(course, run, RehearsalVerdict::DoesNot, &why, seen),
            }
        }
        RehearsalState::Failed {
            container,
            why,
            permanent,
        } => {
            // The store may answer another time, and a node may have room. What etcd's own programs say is for good.
            let is_of_backup = match container.as_deref() {
                Some(names::RESTORE_CONTAINER | names::ETCD_CONTAINER) => true,
                Some(_) => *permanent,
                None => false,
            };
            let verdict = if is_of_backup {
                RehearsalVerdict::DoesNot
            } else {
                RehearsalVerdict::NotTried
            };
            let container = container.as_deref().unwrap_or("its pod");
            end(course, run, verdict, &format!("{container}: {why}"), None);
        }
    }
}

/// Why no pod was made, as the last attempt has it.
fn refused(course: &Course<'_>) -> Option<String> {
    let failed = course
        .snapshot
        .outcomes
        .iter()
        .find(|past| past.effect == "RehearseRestore" && past.outcome != OutcomeKind::Done);
    failed.map(|past| past.message.clone())
}

/// What was restored is something else than what was backed up; none when it is not.
fn why_another(run: &RehearsalRun, found: &Contents) -> Option<String> {
    let differ = |what: &str, found: i64, wanted: i64| {
        format!("its {what} is {found} once it is restored, and was {wanted} when it was taken")
    };
    let Some(said) = &run.contents else {
        let is_less = found.revision < run.etcd_revision;
        return is_less.then(|| differ("revision", found.revision, run.etcd_revision));
    };
    let is_comparable = found.compact_revision == said.compact_revision;
    let pairs = [
        ("revision", found.revision, said.revision),
        ("number of keys", found.keys, said.keys),
        ("hash", found.hash, said.hash),
    ];
    let compared = if is_comparable {
        &pairs[..]
    } else {
        &pairs[..2]
    };
    let other = compared.iter().find(|(_, found, said)| found != said);
    other.map(|(what, found, said)| differ(what, *found, *said))
}

/// Writes down how it ended, tells of it, and has the pod deleted.
fn end(
    course: &mut Course<'_>,
    run: &RehearsalRun,
    verdict: RehearsalVerdict,
    why: &str,
    seen: Option<(&Contents, Millis)>,
) {
    let at = clock::spell(course.now());
    let day = at.split('T').next().unwrap_or_default().to_owned();
    let numbers = seen.map(|(contents, took)| {
        let is_compared = run
            .contents
            .as_ref()
            .is_some_and(|said| said.compact_revision == contents.compact_revision);
        let hash = if is_compared {
            ""
        } else {
            ", hash not compared"
        };
        let tenths = took.0.max(0) / 100;
        let (whole, tenth) = (tenths / 10, tenths % 10);
        format!("{whole}.{tenth} s, {} keys{hash}", grouped(contents.keys))
    });
    let numbers = numbers.unwrap_or_default();
    let (kind, holds, reason, words, restores) = match verdict {
        RehearsalVerdict::Restores => (
            EventType::Normal,
            ConditionStatus::True,
            Reason::RehearsalSucceeded,
            format!(
                "{} was restored into a throw-away member, which has what was backed up: {numbers}.",
                run.key
            ),
            format!("yes, {day}, {numbers}"),
        ),
        RehearsalVerdict::DoesNot => (
            EventType::Warning,
            ConditionStatus::False,
            Reason::RehearsalFailed,
            format!("{} does not restore: {why}.", run.key),
            format!("no, {day}: {why}"),
        ),
        RehearsalVerdict::NotTried => (
            EventType::Warning,
            ConditionStatus::Unknown,
            Reason::RehearsalWaiting,
            format!(
                "Whether {} restores could not be tried: {why}. It is tried again.",
                run.key
            ),
            format!("not tried, {day}: {why}"),
        ),
    };
    course.tell(kind, reason, words.clone());
    course.hold(RESTORABLE, holds, reason, words.clone());
    course.find(FindingKind::Note, reason, words);
    let before = course.status.rehearsal.take();
    let succeeded = (verdict == RehearsalVerdict::Restores).then(|| at.clone());
    course.status.restores = Some(restores);
    course.status.rehearsal = Some(Rehearsal {
        key: run.key.clone(),
        sha256: run.sha256.clone(),
        verdict,
        reason: why.to_owned(),
        at,
        last_success_date: succeeded.or_else(|| before.and_then(|before| before.last_success_date)),
        duration_milliseconds: seen.map(|(_, took)| took.0),
        contents: seen.map(|(contents, _)| contents.clone()),
    });
    let over = RehearsalRun {
        over: true,
        ..run.clone()
    };
    let id = run.id.clone();
    push(course, run, BackupEffect::EndRehearsal { run: id });
    course.status.rehearsal_run = Some(over);
    course.look_again(LATER, reason);
}

/// Ends the rehearsal under way without an outcome: the backup goes.
pub(super) fn abandon(course: &mut Course<'_>, run: &RehearsalRun) {
    if !run.over {
        let id = run.id.clone();
        push(course, run, BackupEffect::EndRehearsal { run: id });
        course.status.rehearsal_run = Some(RehearsalRun {
            over: true,
            ..run.clone()
        });
    }
}

/// A number as people read it: 12,004.
fn grouped(number: i64) -> String {
    let digits = number.max(0).to_string();
    let mut words = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}
