//! An etcd that asks who is there (`etcdctl auth enable`) while the operator is none of its users.

use anyhow::{Result, ensure};
use tests::scenario::{Scenario, spec};

/// root and its password, as `--user` takes them.
const ROOT: &str = "root:of-a-test";

/// Members are cared for as far as etcd lets in who says no name; what it refuses is told with the way out, and done once it
/// is turned off.
pub(crate) async fn without_a_name(scenario: &mut Scenario) -> Result<()> {
    let cluster = scenario
        .create_healthy("locked", spec::on_volumes(3))
        .await?;
    let id = cluster.etcd().await?.cluster_id().await?;
    let leader = cluster.leader().await?;
    let etcdctl = async |arguments: &[&str]| {
        let exec = ["exec", &leader, "--", "etcdctl"];
        scenario.kubectl(&[&exec, arguments].concat()).await
    };
    etcdctl(&["put", "kept", "yes"]).await?;
    etcdctl(&["user", "add", ROOT]).await?;
    etcdctl(&["user", "grant-role", "root", "root"]).await?;
    etcdctl(&["auth", "enable"]).await?;

    cluster.resize(5).await?;
    let words = [
        "auth enable",
        "user name is empty",
        "operatorSecret",
        "auth disable",
    ];
    cluster.becomes_blocked("MembersUnknown", &words).await?;
    let members = etcdctl(&["member", "list", "--user", ROOT]).await?;
    ensure!(members.lines().count() == 3, "members are {members}");

    etcdctl(&["auth", "disable", "--user", ROOT]).await?;
    cluster.becomes_healthy(5).await?;
    ensure!(
        cluster.etcd().await?.cluster_id().await? == id,
        "it is another cluster"
    );
    let kept = etcdctl(&["get", "kept", "--print-value-only"]).await?;
    ensure!(kept.trim() == "yes", "the key is {kept:?}");
    Ok(())
}
