//! The host's own passes over simulated clusters, with the caches, the client and the modules that they are given.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use contract::{Millis, Pod, Snapshot};
use host::backup::Transfers;
use host::execute::Executor;
use host::key::ClusterKey;
use host::lease::Leadership;
use host::metrics::{Metrics, Scraped};
use host::observe::World;
use host::observe::shelf::Scope;
use host::pass::{Memories, Passes};
use host::recorder::{Header, Limits, Recorder};
use host::roster::{Lineup, Roster};
use kube::Client;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::members::Members;

/// Caches that hold what these snapshots do, with the members where they answer.
pub(crate) fn caches(clusters: &[(&Snapshot, &Members)]) -> World {
    let world = World::new(&[Scope::All]);
    let [mut resources, mut pods, mut volumes] = [(); 3].map(|()| BTreeSet::new());
    for (snapshot, members) in clusters {
        let resource = &snapshot.resource;
        let key = ClusterKey::of_cluster(resource);
        let id = |name: &String| (resource.namespace.clone(), name.clone());
        resources.insert(id(&resource.name));
        world.resources.put(key.clone(), resource.clone());
        for pod in snapshot.objects.pods.seen().into_iter().flatten() {
            pods.insert(id(&pod.name));
            let pod = Pod {
                ip: members.address(&pod.name),
                ..pod.clone()
            };
            world.pods.put(key.clone(), pod);
        }
        for volume in snapshot.objects.volumes.seen().into_iter().flatten() {
            volumes.insert(id(&volume.name));
            world.volumes.put(key.clone(), volume.clone());
        }
    }
    let all = &Scope::All;
    world.resources.listed(all, &resources);
    world.pods.listed(all, &pods);
    world.volumes.listed(all, &volumes);
    world.services.listed(all, &BTreeSet::new());
    world.disruption_budgets.listed(all, &BTreeSet::new());
    world
}

/// All that passes over those clusters need. The modules are asked one at a time.
pub(crate) fn passes(client: Client, world: World, directory: &Path, lineup: Lineup) -> Passes {
    let header = Header::new(String::new(), String::new(), Millis(0));
    let recorder = Recorder::open(directory, Limits::default(), header).expect("a recorder");
    let recorder = Arc::new(recorder);
    let world = Arc::new(world);
    let leadership = Leadership::alone();
    let metrics = Metrics::new(Scraped {
        world: Arc::clone(&world),
        recorder: Arc::clone(&recorder),
        leadership: leadership.clone(),
    });
    let stop = CancellationToken::new();
    let transfers = Transfers::new(
        Arc::default(),
        leadership.clone(),
        TaskTracker::new(),
        stop.clone(),
    );
    Passes {
        world,
        executor: Executor {
            client,
            instance: "test".to_owned(),
            leadership,
            metrics: metrics.clone(),
            transfers: Arc::new(transfers),
            stop,
        },
        roster: Arc::new(Roster::new(lineup)),
        engine: String::new(),
        recorder,
        metrics,
        turns: Semaphore::new(1),
        shadow_turns: Semaphore::new(1),
        memories: Memories::default(),
    }
}
