//! What goes wrong in the world, and what people do.
//!
//! What befalls a node is [`nodes`]'s.

mod nodes;

use serde_json::json;

use crate::etcd::{Filling, Op};
use crate::kubernetes::{Member, Node};
use crate::plan::{Fault, Planned};
use crate::registry;
use crate::timers::Timer;
use crate::volumes;
use crate::world::World;

impl World {
    pub(crate) fn begin_fault(&mut self, index: usize) {
        let Planned {
            at: _,
            lasts,
            fault,
        } = self.plan.faults[index];
        self.tell(|_| format!("FAULT {fault}"));
        if lasts > 0 {
            self.timers.set(self.now + lasts, Timer::Heal(index));
        }
        match fault {
            Fault::Wipe(which) => self.wipe(which),
            Fault::Kill(which) => self.kill(which),
            Fault::Evict(which) => self.evict(which),
            Fault::Freeze(which) => self.freeze(which, true),
            Fault::DeletePod(which) => {
                if let Some(name) = self.chosen(which) {
                    self.delete_pod(&name, None);
                }
            }
            Fault::DeleteClaim(which) => {
                if let Some(name) = self.chosen(which) {
                    self.condemn(&name);
                    self.delete_pod(&name, None);
                }
            }
            Fault::CondemnClaim(which) => {
                if let Some(name) = self.chosen(which) {
                    self.condemn(&name);
                }
            }
            Fault::CutNode(which) => self.node_away(which, Node::Cut),
            Fault::Partition(which) => self.kube.split = self.node_numbered(which),
            Fault::Unheard(which) => {
                let node = self.node_numbered(which);
                self.kube.unheard.extend(node.map(|node| (index, node)));
            }
            Fault::StopNode(which) => self.node_away(which, Node::Down),
            Fault::LoseNode(which) => self.lose_node(which),
            Fault::NoImages => self.images = false,
            Fault::SlowSync => self.slow = true,
            Fault::Idle => self.idle = true,
            Fault::NoApi => self.api = false,
            Fault::Clock(off) => self.off = off,
            // The operator looks these up in the plan.
            Fault::StaleCache
            | Fault::Deaf(_)
            | Fault::SlowWatches
            | Fault::Restart
            | Fault::Echo
            | Fault::Rival => {}
            // And the kubelets, or the API server, these.
            Fault::RegistryGone(_) | Fault::Rigid => {}
            Fault::Resize(size) => self.edit(|spec| spec["size"] = size.into()),
            Fault::Version(release) => {
                self.edit(|spec| spec["version"] = release.to_string().into());
            }
            Fault::Repository(number) => {
                self.edit(|spec| spec["repository"] = registry::name(number).into());
            }
            Fault::Label(label) => self.edit(|spec| {
                spec["pod"]["labels"] = json!({"team": format!("t{label}")});
            }),
            Fault::Claims => self.edit(|spec| {
                spec["pod"]["persistentVolumeClaimSpec"] = volumes::template(1);
            }),
            Fault::Storage(size) => self.edit(|spec| {
                let pod = &mut spec["pod"];
                if pod.get("persistentVolumeClaimSpec").is_some() {
                    pod["persistentVolumeClaimSpec"] = volumes::template(size);
                }
            }),
            Fault::Tls(true) => self.edit(|spec| spec["TLS"] = json!({"auto": {}})),
            Fault::Tls(false) => self.edit(|spec| spec["TLS"] = json!(null)),
            Fault::Pause => self.edit(|spec| spec["paused"] = true.into()),
            Fault::FillWithHistory => self.fill(Filling::History),
            Fault::FillWithKeys => self.fill(Filling::Keys),
            Fault::Consent => {
                if let Some(consent) = self.offered() {
                    self.edit(|spec| spec["quorumRecovery"] = consent);
                }
            }
            Fault::RashConsent(which) => self.consent_rashly(which),
            Fault::Withdraw => self.edit(|spec| {
                spec.as_object_mut()
                    .map(|spec| spec.remove("quorumRecovery"));
            }),
            Fault::BackUp => {
                // Without a quorum nobody gets one.
                self.back_up();
            }
            Fault::Restore(consents) => self.ask_for_restore(consents),
            Fault::TakeBack => self.take_back_restores(),
            Fault::Guard => self.guard(),
            Fault::NoStore => self.store = false,
            Fault::Intrude(which) => self.intrude(which),
            Fault::Recreate => self.recreate(),
        }
        self.settle();
    }

    pub(crate) fn end_fault(&mut self, index: usize) {
        let fault = self.plan.faults[index].fault;
        self.tell(|_| format!("OVER  {fault}"));
        match fault {
            Fault::Freeze(_) => self.thaw(),
            Fault::CutNode(which) | Fault::StopNode(which) => self.node_back(which),
            Fault::Partition(_) => self.reunite(),
            Fault::Unheard(_) => {
                self.kube.unheard.remove(&index);
            }
            Fault::NoImages => self.images = true,
            Fault::SlowSync => self.slow = false,
            Fault::Idle => self.idle = false,
            Fault::NoApi => self.api = true,
            Fault::NoStore => self.store = true,
            Fault::Clock(_) => self.off = 0,
            Fault::Pause => self.edit(|spec| spec["paused"] = false.into()),
            Fault::FillWithKeys => self.delete_keys(index),
            Fault::Wipe(_)
            | Fault::Kill(_)
            | Fault::Evict(_)
            | Fault::DeletePod(_)
            | Fault::DeleteClaim(_)
            | Fault::CondemnClaim(_)
            | Fault::LoseNode(_)
            | Fault::StaleCache
            | Fault::Deaf(_)
            | Fault::SlowWatches
            | Fault::Restart
            | Fault::Echo
            | Fault::Rival
            | Fault::FillWithHistory
            | Fault::RegistryGone(_)
            | Fault::Storage(_)
            | Fault::Rigid
            | Fault::Version(_)
            | Fault::Repository(_)
            | Fault::Label(_)
            | Fault::Claims
            | Fault::Tls(_)
            | Fault::Resize(_)
            | Fault::Consent
            | Fault::RashConsent(_)
            | Fault::Withdraw
            | Fault::BackUp
            | Fault::Restore(_)
            | Fault::TakeBack
            | Fault::Guard
            | Fault::Intrude(_)
            | Fault::Recreate => {}
        }
        self.changed = true;
        self.settle();
    }

    fn condemn(&mut self, name: &str) {
        // Nobody has taken up yet what an earlier cluster left, and its data is given up with it.
        if self.plan.numbered && self.recorded().is_none() {
            self.acknowledged.clear();
        }
        self.delete_claim(name);
    }

    fn fill(&mut self, filling: Filling) {
        let Some(cluster) = self.recorded() else {
            return;
        };
        let peers = self.peers();
        // Without a leader nothing is written, and there is no such fault then.
        let _ = self.etcd.fill(cluster, &peers, filling);
        self.changed = true;
    }

    /// Whoever goes on from a member that did not hear of it deletes once more what clients had deleted.
    pub(crate) fn delete_keys_again(&mut self) {
        let faults = self.plan.faults.iter().enumerate();
        let over =
            faults.filter(|(_, one)| one.fault == Fault::FillWithKeys && one.ends() <= self.now);
        let over: Vec<usize> = over.map(|(index, _)| index).collect();
        for index in over {
            self.timers.set(self.now + 5_000, Timer::Heal(index));
        }
    }

    /// A client that finds no leader tries again.
    fn delete_keys(&mut self, index: usize) {
        let recorded = self.recorded();
        let may_come_back = self.plan.numbered;
        let peers = self.peers();
        let is_done = recorded.map_or(!may_come_back, |cluster| {
            let deleted = self.etcd.propose(cluster, &peers, Op::DeleteKeys);
            deleted.is_ok()
        });
        if !is_done {
            self.timers.set(self.now + 5_000, Timer::Heal(index));
        }
    }

    /// The consent that a condition asks for, as a person copies it.
    fn offered(&self) -> Option<serde_json::Value> {
        let conditions = self.kube.resource.status.get("conditions")?.as_array()?;
        let mut messages = conditions
            .iter()
            .filter(|condition| condition.get("type").is_some_and(|kind| kind == "Blocked"))
            .filter_map(|condition| condition.get("message")?.as_str());
        let command = messages.find_map(|message| message.split("--patch '").nth(1))?;
        let patch = command.split('\'').next()?;
        let patch: serde_json::Value = serde_json::from_str(patch).ok()?;
        patch.pointer("/spec/quorumRecovery").cloned()
    }

    fn consent_rashly(&mut self, which: u32) {
        let status = &self.kube.resource.status;
        let records = status
            .get("memberRecords")
            .and_then(serde_json::Value::as_array);
        let index = usize::try_from(which).unwrap_or_default();
        let survivor = records
            .and_then(|records| records.get(index.checked_rem(records.len())?))
            .and_then(|record| record.get("name"))
            .cloned();
        let id = status
            .get("clusterId")
            .cloned()
            .filter(|_| which.is_multiple_of(2));
        if let Some(survivor) = survivor {
            let id = id.unwrap_or_else(|| "c0ffee".into());
            let consent = serde_json::json!({"clusterID": id, "survivor": survivor});
            self.edit(|spec| spec["quorumRecovery"] = consent);
        }
    }

    /// The name of one of the pods.
    pub(crate) fn chosen(&self, which: u32) -> Option<String> {
        let count = self.kube.pods.len();
        let index = usize::try_from(which)
            .unwrap_or_default()
            .checked_rem(count)?;
        self.kube.pods.keys().nth(index).cloned()
    }

    fn wipe(&mut self, which: u32) {
        // On an empty disk the archived operator's pods vote without a memory, which is theirs to answer for.
        let Some(pod) = self
            .chosen(which)
            .and_then(|name| self.kube.pods.get(&name))
            .filter(|pod| !pod.is_kept())
        else {
            return;
        };
        let (number, disk, runs) = (pod.number, pod.disk, pod.process.is_some());
        self.tell(|world| {
            format!(
                "      the disk of {} is empty now",
                world
                    .kube
                    .pods
                    .values()
                    .find(|pod| pod.number == number)
                    .map_or("", |pod| &pod.api.name)
            )
        });
        if let Some(disk) = disk {
            self.etcd.disks.insert(disk, None);
        }
        if runs {
            self.exited(number, 2, "walpb: crc mismatch");
        }
    }

    fn kill(&mut self, which: u32) {
        let Some(pod) = self
            .chosen(which)
            .and_then(|name| self.kube.pods.get(&name))
        else {
            return;
        };
        if pod.process.is_some() {
            let number = pod.number;
            self.exited(number, 137, "");
        }
    }

    fn freeze(&mut self, which: u32, frozen: bool) {
        let Some(name) = self.chosen(which) else {
            return;
        };
        let process = self
            .kube
            .pods
            .get_mut(&name)
            .and_then(|pod| pod.process.as_mut());
        if let Some(process) = process {
            process.frozen = frozen;
        }
    }

    fn thaw(&mut self) {
        let frozen = |pod: &&mut Member| pod.process.is_some_and(|process| process.frozen);
        let thawed: Vec<u32> = self
            .kube
            .pods
            .values_mut()
            .filter(frozen)
            .map(|pod| pod.number)
            .collect();
        for number in thawed {
            self.reached_again(number);
        }
    }

    /// A process that went on by itself is reached again, and must hear of the others first.
    fn reached_again(&mut self, number: u32) {
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        if let Some(process) = pod.process.as_mut() {
            process.frozen = false;
        }
        self.heard_again(number);
    }

    fn heard_again(&mut self, number: u32) {
        let now = self.now;
        let Some(pod) = self.kube.pod_numbered(number) else {
            return;
        };
        let run = pod.runs;
        let Some(process) = pod.process.as_mut() else {
            return;
        };
        if process.serves.is_some() {
            process.serves = Some(now);
            process.synced = false;
            self.after(50, 1_500, Timer::Sync(number, run));
        }
    }

    /// Somebody edits the spec.
    fn edit(&mut self, change: impl FnOnce(&mut serde_json::Value)) {
        change(&mut self.kube.resource.spec);
        self.kube.resource.generation += 1;
        self.touch();
    }

    /// The resource has another version, unlike all that it was found with.
    pub(crate) fn touch(&mut self) {
        self.kube.resource.resource_version = format!("model-{}", self.kube.number());
        self.changed = true;
    }
}
