//! A plan in words, for whoever reads a failing history.
//!
//! Owns the wording. It does not know how a plan is made or carried out.

use std::fmt;

use super::{Fault, Mishap, OldPods, Plan, Planned};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seed,
            size,
            version,
            through,
            claims,
            local,
            tls,
            old,
            numbered,
            faults,
            mishaps,
        } = self;
        let disks = match (claims, local) {
            (false, _) => "data in the pods",
            (true, false) => "volumes that any node reaches",
            (true, true) => "volumes that belong to a node",
        };
        let traffic = if *tls { ", with TLS" } else { "" };
        let born = match old {
            None => "",
            Some(OldPods::Kept) => ", left by the archived operator",
            Some(OldPods::Renewed) => ", left by the archived operator, its pods to be made anew",
        };
        let kind = if *numbered {
            " of the second dialect"
        } else {
            ""
        };
        writeln!(
            f,
            "seed {seed}: a cluster{kind} of {size} with {disks}{traffic}{born}"
        )?;
        if let Some(version) = version {
            let way = if *through {
                "through all minor versions"
            } else {
                "one minor version at a time"
            };
            writeln!(f, "  of etcd {version}, {way}")?;
        }
        let mut faults = faults.clone();
        faults.sort_by_key(|planned| planned.at);
        for Planned { at, lasts, fault } in faults {
            match lasts {
                0 => writeln!(f, "  at {at} ms {fault}")?,
                lasts => writeln!(f, "  at {at} ms, for {lasts} ms, {fault}")?,
            }
        }
        for (number, mishap) in mishaps {
            writeln!(f, "  with action {number} {mishap}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wipe(which) => write!(f, "the disk of member {which} is emptied"),
            Self::Kill(which) => write!(f, "the process of member {which} is killed"),
            Self::Evict(which) => write!(f, "the kubelet of member {which} ends its pod for good"),
            Self::Freeze(which) => write!(f, "the process of member {which} is frozen"),
            Self::DeletePod(which) => write!(f, "somebody deletes the pod of member {which}"),
            Self::DeleteClaim(which) => write!(
                f,
                "somebody deletes the pod and the claim of member {which}"
            ),
            Self::CondemnClaim(which) => {
                write!(
                    f,
                    "somebody deletes the claim of member {which}, which its pod holds"
                )
            }
            Self::CutNode(which) => write!(f, "node {which} is cut off"),
            Self::Partition(which) => write!(f, "members on node {which} reach no others"),
            Self::Unheard(which) => write!(f, "the operator reaches no members on node {which}"),
            Self::StopNode(which) => write!(f, "node {which} is down"),
            Self::LoseNode(which) => write!(f, "node {which} is lost for ever"),
            Self::NoImages => write!(f, "images cannot be pulled"),
            Self::RegistryGone(number) => write!(f, "repository {number} has no images any more"),
            Self::SlowSync => write!(f, "members catch up slowly"),
            Self::Idle => write!(f, "clients write nothing after many writes"),
            Self::StaleCache => write!(f, "the operator's caches stand still"),
            Self::Deaf(watch) => write!(f, "watch {watch} of the operator tells nothing"),
            Self::SlowWatches => write!(f, "the operator looks a second after changes"),
            Self::NoApi => write!(f, "the API server does not answer"),
            Self::Restart => write!(f, "the operator is started again"),
            Self::Echo => write!(f, "the operator decides on an old snapshot"),
            Self::Clock(off) => write!(f, "the operator's clock is off by {off} ms"),
            Self::Rival => write!(f, "another operator takes itself for the leader"),
            Self::Resize(size) => write!(f, "somebody sets the size to {size}"),
            Self::Version(release) => write!(f, "somebody asks for etcd {release}"),
            Self::Repository(number) => {
                write!(f, "somebody asks for images of repository {number}")
            }
            Self::Label(label) => write!(f, "somebody labels the pods {label}"),
            Self::Claims => write!(f, "somebody asks for claims"),
            Self::Storage(size) => write!(f, "somebody asks for volumes of {size} Gi"),
            Self::Rigid => write!(f, "no volume can grow"),
            Self::Tls(true) => write!(f, "somebody turns TLS on"),
            Self::Tls(false) => write!(f, "somebody turns TLS off"),
            Self::Pause => write!(f, "somebody pauses the cluster"),
            Self::FillWithHistory => write!(f, "clients fill the quota with history"),
            Self::FillWithKeys => write!(f, "clients fill the quota with keys"),
            Self::Consent => write!(f, "somebody consents as the condition says"),
            Self::RashConsent(which) => {
                write!(f, "somebody consents to member {which} without reading")
            }
            Self::Withdraw => write!(f, "somebody removes the consent"),
            Self::BackUp => write!(f, "somebody takes a backup"),
            Self::Restore(false) => write!(f, "somebody asks for a restore"),
            Self::Restore(true) => {
                write!(f, "somebody asks for a restore and gives up what there is")
            }
            Self::TakeBack => write!(f, "somebody deletes what asks for a restore"),
            Self::Guard => write!(f, "somebody wants a backup before risky acts"),
            Self::NoStore => write!(f, "the store of backups does not answer"),
            Self::Recreate => write!(f, "somebody deletes the cluster and makes it again"),
            Self::Intrude(which) => {
                write!(
                    f,
                    "somebody puts another object, {which}, in the place of ours"
                )
            }
        }
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnswerLost => write!(f, "the answer is lost"),
            Self::Conflict => write!(f, "the request is answered with a conflict"),
            Self::NeverArrives => write!(f, "the request never arrives"),
            Self::Late(late) => write!(f, "the request arrives {late} ms late"),
            Self::EndsBefore => write!(f, "the operator ends before the effect"),
            Self::EndsAfter => write!(f, "the operator ends after the effect"),
        }
    }
}
