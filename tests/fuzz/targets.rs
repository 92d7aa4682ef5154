//! What reads foreign bytes, and what must hold of each answer.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{Child, Decision, MODULE_KIND, Observed, ReconcilerModuleSpec, Resource, Snapshot};
use host::observe::project;
use host::recorder::Recording;
use host::registry::Reference;
use host::signature::PublicKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;
use simulator::Choice;

use crate::proofs;
use crate::worlds::worlds;

/// How often it came to what a fuzzer is for; a run that never does has shown nothing.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    /// Bytes that were read as what they were meant to be.
    pub(crate) read: AtomicUsize,
    /// Decisions that act: with an effect that is more than words.
    pub(crate) acting: AtomicUsize,
    /// Actions, other than words, that the envelope allowed on a fresh read.
    pub(crate) allowed: AtomicUsize,
    /// Decisions that it refused as a whole, and actions on a fresh read.
    pub(crate) refused: AtomicUsize,
}

impl Reached {
    pub(crate) fn count(counter: &AtomicUsize) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Wants at least so many of each, in the order of the fields.
    pub(crate) fn check(&self, least: [usize; 4]) {
        let counters = [&self.read, &self.acting, &self.allowed, &self.refused];
        let found = counters.map(|counter| counter.load(Ordering::Relaxed));
        eprintln!("read, acting, allowed, refused: {found:?}");
        let is_enough = found
            .iter()
            .zip(least)
            .all(|(found, least)| *found >= least);
        assert!(is_enough, "at least {least:?} are wanted, not {found:?}");
    }
}

/// One reader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// The sealed module's: bytes to a snapshot, and the decision on it.
    Snapshot,
    /// The host's: a module's answer.
    Decision,
    /// The host's: a file that is said to be a recording.
    Recording,
    /// The host's: a custom resource as the API server may hold it.
    Resource,
    /// The host's: a pod, a claim, a Service or a budget of the cluster as the API server may hold it.
    Child,
    /// The host's: what a registry gives with a module, or a disk keeps of it, and the files that say whom to trust.
    Proof,
}

impl Target {
    /// The folder of its corpus.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Decision => "decision",
            Self::Recording => "recording",
            Self::Resource => "resource",
            Self::Child => "child",
            Self::Proof => "proof",
        }
    }

    /// Reads the bytes and does with them what is done in production.
    pub(crate) fn read(self, bytes: &[u8], reached: &Reached) {
        match self {
            Self::Snapshot => {
                if let Ok(snapshot) = serde_json::from_slice(bytes) {
                    decide(&snapshot, reached);
                }
            }
            Self::Decision => {
                if let Ok(decision) = host::module::read(bytes) {
                    judge(&decision, reached);
                }
            }
            Self::Recording => read_recording(bytes, reached),
            Self::Proof => proofs::read(bytes, reached),
            Self::Child => {
                if let Ok(child) = serde_json::from_slice::<Child>(bytes) {
                    for (_, _, snapshot) in worlds().iter().skip(1).take(2) {
                        let mut snapshot = snapshot.clone();
                        place(child.clone(), &mut snapshot);
                        decide(&snapshot, reached);
                    }
                }
            }
            Self::Resource => {
                if let Ok(object) = serde_json::from_slice(bytes) {
                    let resource = project::resource(object);
                    if resource.kind == MODULE_KIND {
                        read_module(&resource.spec, reached);
                        return;
                    }
                    for (_, _, snapshot) in worlds().iter().take(2) {
                        let snapshot = Snapshot {
                            resource: resource.clone(),
                            ..snapshot.clone()
                        };
                        decide(&snapshot, reached);
                    }
                }
            }
        }
    }
}

/// Puts the object among those of the world, as one of the cluster's own.
fn place(child: Child, snapshot: &mut Snapshot) {
    let uid = &snapshot.resource.uid;
    let own = |metadata: &mut ObjectMeta| {
        for owner in metadata.owner_references.iter_mut().flatten() {
            owner.uid.clone_from(uid);
        }
    };
    let objects = &mut snapshot.objects;
    match child {
        Child::Pod(mut pod) => {
            own(&mut pod.metadata);
            put(&mut objects.pods, project::pod(pod), |pod| &pod.name);
        }
        Child::PersistentVolumeClaim(mut claim) => {
            own(&mut claim.metadata);
            let claim = project::volume(claim);
            put(&mut objects.volumes, claim, |claim| &claim.name);
        }
        Child::Service(mut service) => {
            own(&mut service.metadata);
            let service = project::service(service);
            put(&mut objects.services, service, |service| &service.name);
        }
        Child::PodDisruptionBudget(mut budget) => {
            own(&mut budget.metadata);
            let budget = project::disruption_budget(budget);
            put(&mut objects.disruption_budgets, budget, |one| &one.name);
        }
    }
}

fn put<T>(listed: &mut Observed<Vec<T>>, object: T, name: impl Fn(&T) -> &String) {
    if let Observed::Seen(listed) = listed {
        listed.retain(|one| name(one) != name(&object));
        listed.push(object);
        listed.sort_by(|one, other| name(one).cmp(name(other)));
    }
}

/// Each snapshot is answered, twice in the same words, and never with an action for somebody else's resource.
fn decide(snapshot: &Snapshot, reached: &Reached) {
    Reached::count(&reached.read);
    let decision = reconciler::reconcile(snapshot);
    if acts(&decision) {
        Reached::count(&reached.acting);
    }
    match envelope::permit(&decision, snapshot) {
        Ok(()) => Reached::count(&reached.allowed),
        Err(_) => Reached::count(&reached.refused),
    }
    let bytes = serde_json::to_vec(&decision).expect("a decision is JSON");
    let again = reconciler::reconcile(snapshot);
    assert_eq!(
        bytes,
        serde_json::to_vec(&again).expect("a decision is JSON")
    );
    let read = host::module::read(&bytes).expect("the host reads what the module wrote");
    assert_eq!(read, decision);
    let is_its = |uid: &str| uid == snapshot.resource.uid;
    for action in &decision.actions {
        assert!(is_its(&action.pre.resource_uid), "{action:?}");
    }
    let kept: Resource = serde_json::from_value(serde_json::json!(snapshot.resource))
        .expect("a resource is read as it was written");
    assert_eq!(kept, snapshot.resource);
}

fn acts(decision: &Decision) -> bool {
    decision
        .actions
        .iter()
        .any(|action| !action.effect.is_telling())
}

/// In the world it is about, or in any where it is about none, the envelope answers, and what it lets pass does not hurt
/// the members.
fn judge(decision: &Decision, reached: &Reached) {
    Reached::count(&reached.read);
    if acts(decision) {
        Reached::count(&reached.acting);
    }
    for (name, branch, snapshot) in worlds() {
        if envelope::permit(decision, snapshot).is_err() {
            Reached::count(&reached.refused);
            continue;
        }
        for action in &decision.actions {
            let fresh = branch.fresh(&envelope::reads(action));
            match envelope::check(action, &fresh) {
                Err(_) => Reached::count(&reached.refused),
                Ok(()) if !action.effect.is_telling() => Reached::count(&reached.allowed),
                Ok(()) => {}
            }
        }
        let mut after = branch.clone();
        after.step(Choice::Look, |_| decision.clone());
        let is_lost = branch.truth().confirmed && !after.truth().confirmed;
        assert!(!is_lost, "{name}: the quorum is lost: {decision:?}");
    }
}

/// What a ReconcilerModule names is read again as it is told.
fn read_module(spec: &Value, reached: &Reached) {
    let Ok(spec) = ReconcilerModuleSpec::deserialize(spec) else {
        return;
    };
    Reached::count(&reached.read);
    let reference = spec
        .source
        .oci
        .map(|oci| oci.reference.parse::<Reference>());
    if let Some(Ok(reference)) = reference {
        let again = reference.to_string().parse::<Reference>();
        assert_eq!(again.expect("it is one"), reference);
    }
    let key = spec.signature.and_then(|signature| signature.public_key);
    // A refusal in words is an answer.
    let _ = key.map(|text| PublicKey::parse(&text));
}

fn read_recording(bytes: &[u8], reached: &Reached) {
    let file = tempfile::NamedTempFile::with_suffix(".jsonl").expect("a file");
    fs::write(file.path(), bytes).expect("it can be written");
    let Ok(mut recording) = Recording::open(file.path()) else {
        return;
    };
    let _ = recording.header().carried();
    while let Ok(Some(frame)) = recording.next_frame() {
        for record in frame.records().flatten() {
            if serde_json::from_str::<Snapshot>(record.snapshot.get()).is_ok() {
                Reached::count(&reached.read);
            }
        }
    }
}
