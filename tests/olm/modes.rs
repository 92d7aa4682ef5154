//! The install modes beyond the own namespace: which clusters are looked after, and which are not; upgrades in each of them;
//! and the rights that OLM makes of those in the bundle.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};
use tests::audit::{self, Audit, Right};
use tests::olm::{Approval, Subscriber};
use tests::scenario::{Cluster, spec};
use tests::testbed::wait;

use crate::Ground;
use crate::living::{Living, upgrade};

const PATIENCE: Duration = Duration::from_secs(120);
/// What is needed once volumes grow, certificates are made again and events repeat: the suite `cluster` shows that they are,
/// under rules of the same source.
const SHOWN_ELSEWHERE: [(&str, &str); 3] = [
    ("persistentvolumeclaims", "patch"),
    ("secrets", "patch"),
    ("events", "patch"),
];

/// One other namespace, then two, then all, by changes of one OperatorGroup; and an upgrade in each of these modes.
pub(crate) async fn all(ground: &Ground) -> Result<()> {
    nobody_else(ground).await?;
    let home = Subscriber::new(&ground.testbed, &ground.kubectl, "olm-home").await?;
    let (first, second, third) = (
        ground.testbed.namespace("olm-first").await?,
        ground.testbed.namespace("olm-second").await?,
        ground.testbed.namespace("olm-third").await?,
    );
    let cluster = |namespace: &str| Cluster::new(ground.testbed.clone(), namespace, "served");
    let clusters = [first.name(), second.name(), third.name()].map(cluster);
    let [one, another, last] = clusters;

    home.group(&[first.name()]).await?;
    home.subscribe("testing", Approval::Manual, Some("0.1.0"))
        .await?;
    home.approve("0.1.0").await?;
    home.succeeds("0.1.0").await?;
    home.serves(&[first.name()]).await?;
    for cluster in [&one, &another, &last] {
        cluster.create(spec::on_volumes(1)).await?;
    }
    one.becomes_healthy(1).await?;
    let mut living = vec![Living::of(one).await?];
    upgrade(ground, &home, "0.2.0", &living).await?;
    is_ignored(&another).await?;
    is_ignored(&last).await?;

    home.group(&[first.name(), second.name()]).await?;
    home.serves(&[first.name(), second.name()]).await?;
    another.becomes_healthy(1).await?;
    living.push(Living::of(another).await?);
    upgrade(ground, &home, "0.3.0", &living).await?;
    is_ignored(&last).await?;

    // Applied over the list of before: a group without targets means all namespaces.
    home.group(&[]).await?;
    home.serves(&[]).await?;
    last.becomes_healthy(1).await?;
    living.push(Living::of(last).await?);
    upgrade(ground, &home, "0.4.0", &living).await?;

    everything_is_asked_for(ground, &home, third.name()).await?;
    the_other_dialect(ground, third.name()).await?;
    for one in living {
        let cluster = one.grown().await?.end().await?;
        cluster.resize(1).await?;
        cluster.becomes_healthy(1).await?;
        cluster.delete().await?;
    }
    rights_are_enough_and_used(ground, &home).await?;
    home.uninstall().await
}

/// An operator that serves all namespaces would meet those of other scenarios, which OLM refuses.
pub(crate) async fn nobody_else(ground: &Ground) -> Result<()> {
    wait::until("the end of all other operators", PATIENCE, async || {
        let left = ground
            .kubectl
            .run(&[
                "get",
                "operatorgroups,clusterserviceversions",
                "--all-namespaces",
                "--output=name",
            ])
            .await?;
        ensure!(left.is_empty(), "there is still {left}");
        Ok(())
    })
    .await
}

/// Nobody has written its status or made anything for it.
async fn is_ignored(cluster: &Cluster) -> Result<()> {
    let resource = cluster.resource().await?;
    ensure!(
        resource.data.get("status").is_none(),
        "{} has a status",
        cluster.namespace()
    );
    ensure!(
        cluster.pods().await?.is_empty(),
        "{} has pods",
        cluster.namespace()
    );
    Ok(())
}

/// Uses what the clusters alone would not: certificates, a backup and a restore of a store that is away, another module.
async fn everything_is_asked_for(
    ground: &Ground,
    home: &Subscriber,
    namespace: &str,
) -> Result<()> {
    let secured = Cluster::new(ground.testbed.clone(), namespace, "secured");
    let mut wanted = spec::in_pods(1);
    wanted["TLS"] = json!({"auto": {}});
    secured.create(wanted).await?;
    secured.becomes_available().await?;

    let group = "etcd.database.coreos.com";
    let object = |kind: &str, version: &str, namespace: &str, spec: Value| {
        json!({
            "apiVersion": format!("{group}/{version}"), "kind": kind,
            "metadata": {"name": "asked", "namespace": namespace}, "spec": spec,
        })
    };
    let store =
        json!({"path": "bucket/asked", "awsSecret": "store", "endpoint": "http://127.0.0.1:1"});
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "store", "namespace": namespace},
        "stringData": {
            "credentials": "[default]\naws_access_key_id = a\naws_secret_access_key = b\n",
            "config": "[default]\nregion = r\n",
        },
    });
    let backup = json!({
        "clusterRef": {"name": "served"}, "storageType": "S3", "s3": store,
        "backupPolicy": {"backupIntervalInSecond": 60, "whenDeleted": "Delete"},
    });
    let restore =
        json!({"etcdCluster": {"name": "absent"}, "backupStorageType": "S3", "s3": store});
    let module = json!({"role": "Shadow", "source": {"configMap": {"name": "absent"}}});
    for one in [
        secret,
        object("EtcdBackup", "v1beta2", namespace, backup),
        object("EtcdRestore", "v1beta2", namespace, restore),
        object("ReconcilerModule", "v1alpha1", home.namespace(), module),
    ] {
        let apply = ["apply", "--filename", "-"];
        ground
            .kubectl
            .run_with_input(&apply, &one.to_string())
            .await?;
    }
    for (kind, namespace) in [
        ("etcdbackup", namespace),
        ("etcdrestore", namespace),
        ("reconcilermodule", home.namespace()),
    ] {
        wait::until(format!("a word about the {kind}"), PATIENCE, async || {
            let show = ["--namespace", namespace, "get", kind, "asked"];
            let status = ["--output=jsonpath={.status}"];
            let told = ground.kubectl.run(&[&show[..], &status].concat()).await?;
            ensure!(!told.is_empty(), "it has no status");
            eprintln!("{kind}: {told}");
            Ok(())
        })
        .await?;
    }
    let retain = r#"{"spec":{"backupPolicy":{"whenDeleted":"Retain"}}}"#;
    let in_namespace = ["--namespace", namespace];
    for arguments in [
        &[
            "patch",
            "etcdbackup",
            "asked",
            "--type=merge",
            "--patch",
            retain,
        ][..],
        &["delete", "etcdbackup", "asked"],
        &["delete", "etcdrestore", "asked"],
    ] {
        ground
            .kubectl
            .run(&[&in_namespace[..], arguments].concat())
            .await?;
    }
    home.kubectl(&["delete", "reconcilermodule", "asked"])
        .await?;
    secured.delete().await
}

/// A cluster of `etcd.improbable.io` whose members are seen, and go, as objects of their own.
async fn the_other_dialect(ground: &Ground, namespace: &str) -> Result<()> {
    const KIND: &str = "etcdclusters.etcd.improbable.io";
    let cluster = json!({
        "apiVersion": "etcd.improbable.io/v1alpha1", "kind": "EtcdCluster",
        "metadata": {"name": "other", "namespace": namespace},
        "spec": {
            "replicas": 3, "version": "3.6.16",
            "storage": {"volumeClaimTemplate": {
                "storageClassName": "local", "resources": {"requests": {"storage": "64Mi"}},
            }},
            "podTemplate": {"resources": {"requests": {"cpu": "10m", "memory": "32Mi"}}},
        },
    });
    let apply = ["apply", "--filename", "-"];
    ground
        .kubectl
        .run_with_input(&apply, &cluster.to_string())
        .await?;
    let run = async |arguments: &[&str]| {
        let all = [&["--namespace", namespace], arguments].concat();
        ground.kubectl.run(&all).await
    };
    let shows = async |peers: usize| {
        let show = [
            "get",
            "etcdpeers.etcd.improbable.io",
            "--output=jsonpath={.items[*].status.serverVersion}",
        ];
        wait::until(format!("{peers} peers"), PATIENCE, async || {
            let versions = run(&show).await?;
            let is_so = versions.split_whitespace().eq(vec!["3.6.16"; peers]);
            ensure!(is_so, "they run {versions:?}");
            Ok(())
        })
        .await
    };
    shows(3).await?;
    run(&["scale", KIND, "other", "--replicas=1"]).await?;
    shows(1).await?;
    run(&["delete", KIND, "other"]).await.map(drop)
}

/// The API server's own record: each right of the bundle was used by this operator, but for those that are shown elsewhere,
/// and none beyond them was asked for.
async fn rights_are_enough_and_used(ground: &Ground, home: &Subscriber) -> Result<()> {
    let show = [
        "get",
        "clusterserviceversion",
        "binnacle.v0.4.0",
        "--output=json",
    ];
    let csv: Value = serde_json::from_str(&home.kubectl(&show).await?)?;
    let permissions = csv["spec"]["install"]["spec"]["permissions"].as_array();
    let rules = permissions
        .into_iter()
        .flatten()
        .map(|one| one["rules"].clone());
    let rules: Vec<Vec<PolicyRule>> = rules
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()?;
    let granted = audit::granted(&rules.concat());
    let Audit { allowed, refused } = Audit::read(&ground.testbed.audit_log())?;
    let of_home = |asked: &audit::Asked| -> BTreeSet<Right> {
        let by_home = asked.iter().filter(|(_, requests)| {
            requests
                .iter()
                .any(|request| request.from == home.namespace())
        });
        by_home.map(|(right, _)| right.clone()).collect()
    };
    let used = of_home(&allowed);
    let unused: Vec<_> = granted
        .difference(&used)
        .filter(|right| !SHOWN_ELSEWHERE.contains(&(right.resource.as_str(), right.verb.as_str())))
        .collect();
    ensure!(unused.is_empty(), "nobody needed {unused:?}");
    // While OLM makes roles anew for another group, what is granted may be refused for a moment.
    let beyond: Vec<_> = of_home(&refused).difference(&granted).cloned().collect();
    ensure!(beyond.is_empty(), "not granted and asked for: {beyond:?}");
    let everywhere = allowed
        .values()
        .flatten()
        .any(|request| request.from == home.namespace() && request.about.is_empty());
    ensure!(everywhere, "it never asked about all namespaces");
    eprintln!("{} rights, each used in all namespaces", granted.len());
    Ok(())
}
