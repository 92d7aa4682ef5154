//! The testbed's network: a switch, a link from it to the host and to each node, a route to each node's pods.
//!
//! The switch is a bridge in a namespace of its own: on the host, Docker's packet filter or another's would judge what
//! nodes say to one another. Pods are reached from the host, and Services too: their range is routed through one node,
//! whose kube-proxy answers.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::command::Command;
use super::layout::{Block, Layout, NODES};
use super::process::{Daemon, run_inside};
use super::wait;

/// Finds an address block that no route of this machine touches.
pub(crate) async fn free_block(layout: &Layout) -> Result<Block> {
    let routes = Command::new("ip")
        .args(["-j", "-4", "route", "show", "table", "all"])
        .run()
        .await?;
    let routes: Vec<Value> = serde_json::from_str(&routes)?;
    let taken: Vec<(u32, u32)> = routes
        .iter()
        .filter_map(|route| range(route["dst"].as_str()?))
        .collect();
    // Apart from the ranges that Docker and other clusters like to take; where to begin follows from the name.
    let candidates: Vec<_> = (150..=199)
        .map(|second| Block(10, second))
        .chain((24..=31).map(|second| Block(172, second)))
        .collect();
    let start = layout.tag().bytes().map(usize::from).sum::<usize>() % candidates.len();
    let free = |block: &&Block| {
        let (first, last) = (
            u32::from(Ipv4Addr::new(block.0, block.1, 0, 0)),
            u32::from(Ipv4Addr::new(block.0, block.1, 255, 255)),
        );
        taken.iter().all(|(from, to)| *to < first || last < *from)
    };
    let Some(block) = candidates
        .iter()
        .cycle()
        .skip(start)
        .take(candidates.len())
        .find(free)
    else {
        bail!(
            "every private address block that the testbed could take is routed elsewhere on this machine"
        );
    };
    Ok(*block)
}

/// The process that holds the switch's namespace.
pub(crate) fn switch(layout: &Layout) -> Daemon {
    layout.daemon("switch")
}

/// Makes the switch and the host's link to it.
pub(crate) async fn make_switch(layout: &Layout, block: Block) -> Result<()> {
    let daemon = switch(layout);
    let switch = daemon
        .start(&["unshare", "--net", "sleep", "infinity"].map(str::to_owned))
        .await?;
    is_anchored(&daemon).await?;
    let link = layout.host_link();
    ip(&format!(
        "link add {link} type veth peer name host netns {switch}\n\
         addr add {}/24 dev {link}\n\
         link set {link} up\n",
        block.gateway()
    ))
    .await?;
    ip_inside(
        switch,
        "link add bridge type bridge\n\
         link set bridge up\n\
         link set host master bridge up\n",
    )
    .await
}

/// Waits until a process that is to hold namespaces has made them and sleeps.
pub(crate) async fn is_anchored(anchor: &Daemon) -> Result<()> {
    wait::until(
        format!("the namespaces of {}", anchor.name()),
        Duration::from_secs(5),
        async || {
            let pid = anchor.pid().with_context(|| anchor.last_words())?;
            let program = std::fs::read_to_string(format!("/proc/{pid}/comm"))?;
            ensure!(program.trim() == "sleep", "{}", anchor.last_words());
            Ok(())
        },
    )
    .await
}

/// Links the node whose namespaces `anchor` holds to the switch, and routes its pods through it.
pub(crate) async fn link_node(
    layout: &Layout,
    block: Block,
    number: u8,
    anchor: u32,
) -> Result<()> {
    let (link, node) = (Layout::node_name(number), block.node(number));
    ip_inside(
        switch_process(layout)?,
        &format!(
            "link add {link} type veth peer name eth0 netns {anchor}\n\
             link set {link} master bridge up\n"
        ),
    )
    .await?;
    ip(&format!("route add {} via {node}\n", block.pods_of(number))).await?;
    let mut inside = format!(
        "link set lo up\n\
         addr add {node}/24 dev eth0\n\
         link set eth0 up\n\
         route add default via {}\n",
        block.gateway()
    );
    for other in (1..=NODES).filter(|other| *other != number) {
        inside.push_str(&format!(
            "route add {} via {}\n",
            block.pods_of(other),
            block.node(other)
        ));
    }
    ip_inside(anchor, &inside).await?;
    run_inside(anchor)
        .args(["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"])
        .run()
        .await?;
    Ok(())
}

/// Sends the host's traffic for Services through this node.
pub(crate) async fn route_services(block: Block, number: u8) -> Result<()> {
    ip(&format!(
        "route replace {} via {}\n",
        block.services(),
        block.node(number)
    ))
    .await
}

/// Takes a node's link down or up; down is a true partition.
pub(crate) async fn set_link(layout: &Layout, number: u8, up: bool) -> Result<()> {
    let state = if up { "up" } else { "down" };
    ip_inside(
        switch_process(layout)?,
        &format!("link set {} {state}\n", Layout::node_name(number)),
    )
    .await
}

/// Whether a node's link is up.
pub(crate) async fn is_linked(layout: &Layout, number: u8) -> Result<bool> {
    let name = Layout::node_name(number);
    let links = run_inside(switch_process(layout)?)
        .args(["ip", "-j", "link", "show", &name])
        .run()
        .await?;
    let links: Vec<Value> = serde_json::from_str(&links)?;
    let flags = links.first().and_then(|link| link["flags"].as_array());
    Ok(flags.is_some_and(|flags| flags.iter().any(|flag| flag == "UP")))
}

/// Ends the switch; all links go with its namespace, and addresses and routes with them.
pub(crate) async fn remove(layout: &Layout) -> Result<()> {
    switch(layout).stop(Duration::ZERO).await?;
    let link = layout.host_link();
    wait::until(
        format!("the removal of link {link}"),
        Duration::from_secs(10),
        async || {
            // The kernel does it by itself, a moment after the last process of the namespace.
            if std::fs::exists(format!("/sys/class/net/{link}"))? {
                ip(&format!("link del {link}\n")).await?;
            }
            Ok(())
        },
    )
    .await
}

fn switch_process(layout: &Layout) -> Result<u32> {
    switch(layout)
        .pid()
        .context("the testbed has lost its switch")
}

async fn ip_inside(anchor: u32, batch: &str) -> Result<()> {
    run_inside(anchor)
        .args(["ip", "-batch", "-"])
        .run_with_input(batch)
        .await
        .map(drop)
}

async fn ip(batch: &str) -> Result<()> {
    Command::new("ip")
        .args(["-batch", "-"])
        .run_with_input(batch)
        .await
        .map(drop)
}

/// First and last address of a route's destination; the default route touches nothing in particular.
fn range(destination: &str) -> Option<(u32, u32)> {
    let (address, length) = destination.split_once('/').unwrap_or((destination, "32"));
    let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
    let spread = u32::MAX.checked_shr(length).unwrap_or(0);
    let first = u32::from(address) & !spread;
    (length > 0).then_some((first, first | spread))
}

#[cfg(test)]
mod tests {
    use super::{Ipv4Addr, range};

    fn check(destination: &str, expected: Option<(&str, &str)>) {
        let expected = expected.map(|(first, last)| {
            [first, last].map(|address| address.parse::<Ipv4Addr>().map_or(0, u32::from))
        });
        assert_eq!(range(destination).map(<[u32; 2]>::from), expected);
    }

    #[test]
    fn a_route_covers_its_first_to_its_last_address() {
        check("10.150.0.0/16", Some(("10.150.0.0", "10.150.255.255")));
        check("10.150.7.9", Some(("10.150.7.9", "10.150.7.9")));
        check("10.0.0.0/8", Some(("10.0.0.0", "10.255.255.255")));
    }

    /// Every machine with a network has one; no address would be free.
    #[test]
    fn the_default_route_takes_nothing() {
        check("default", None);
        check("0.0.0.0/0", None);
    }
}
