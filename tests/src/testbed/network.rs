//! The testbed's network: a bridge on the host, a link to each node, a route to each node's pods.
//!
//! Pods are reached from the host, and Services too: their range is routed through one node, whose kube-proxy answers.

use std::net::Ipv4Addr;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::command::Command;
use super::layout::{Block, Layout, NODES};
use super::process::run_inside;

/// Finds an address block that no route of this machine touches.
pub(crate) async fn free_block(layout: &Layout) -> Result<Block> {
    let routes = Command::new("ip").args(["-j", "-4", "route", "show", "table", "all"]).run().await?;
    let routes: Vec<Value> = serde_json::from_str(&routes)?;
    let taken: Vec<(u32, u32)> = routes.iter().filter_map(|route| range(route["dst"].as_str()?)).collect();
    // Apart from the ranges that Docker and other clusters like to take; where to begin follows from the name.
    let candidates: Vec<_> =
        (150..=199).map(|second| Block(10, second)).chain((24..=31).map(|second| Block(172, second))).collect();
    let start = layout.tag().bytes().map(usize::from).sum::<usize>() % candidates.len();
    let free = |block: &&Block| {
        let (first, last) = (u32::from(Ipv4Addr::new(block.0, block.1, 0, 0)), u32::from(Ipv4Addr::new(block.0, block.1, 255, 255)));
        taken.iter().all(|(from, to)| *to < first || last < *from)
    };
    let Some(block) = candidates.iter().cycle().skip(start).take(candidates.len()).find(free) else {
        bail!("every private address block that the testbed could take is routed elsewhere on this machine");
    };
    Ok(*block)
}

/// Makes the bridge with the host's address.
pub(crate) async fn make_bridge(layout: &Layout, block: Block) -> Result<()> {
    let bridge = layout.bridge();
    ip(&format!(
        "link add {bridge} type bridge\n\
         addr add {}/24 dev {bridge}\n\
         link set {bridge} up\n",
        block.gateway()
    ))
    .await
    .context("the testbed's bridge cannot be made")
}

/// Links the node whose namespaces `anchor` holds to the bridge, and routes its pods through it.
pub(crate) async fn link_node(layout: &Layout, block: Block, number: u8, anchor: u32) -> Result<()> {
    let (bridge, link, node) = (layout.bridge(), layout.link(number), block.node(number));
    ip(&format!(
        "link add {link} type veth peer name eth0 netns {anchor}\n\
         link set {link} master {bridge} up\n\
         route add {} via {node}\n",
        block.pods_of(number)
    ))
    .await?;
    let mut inside = format!(
        "link set lo up\n\
         addr add {node}/24 dev eth0\n\
         link set eth0 up\n\
         route add default via {}\n",
        block.gateway()
    );
    for other in (1..=NODES).filter(|other| *other != number) {
        inside.push_str(&format!("route add {} via {}\n", block.pods_of(other), block.node(other)));
    }
    run_inside(anchor).args(["ip", "-batch", "-"]).run_with_input(&inside).await?;
    run_inside(anchor).args(["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"]).run().await?;
    Ok(())
}

/// Sends the host's traffic for Services through this node.
pub(crate) async fn route_services(block: Block, number: u8) -> Result<()> {
    ip(&format!("route replace {} via {}\n", block.services(), block.node(number))).await
}

/// Takes a node's link down or up; down is a true partition.
pub(crate) async fn set_link(layout: &Layout, number: u8, up: bool) -> Result<()> {
    ip(&format!("link set {} {}\n", layout.link(number), if up { "up" } else { "down" })).await
}

/// Whether a node's link is up.
pub(crate) async fn is_linked(layout: &Layout, number: u8) -> bool {
    let flags = std::fs::read_to_string(format!("/sys/class/net/{}/flags", layout.link(number)));
    let flags = flags.ok().and_then(|flags| u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).ok());
    flags.is_some_and(|flags| flags & 1 == 1)
}

/// Removes whatever links there are; routes and addresses go with them.
pub(crate) async fn remove(layout: &Layout) -> Result<()> {
    let mut links: Vec<_> = (1..=NODES).map(|number| layout.link(number)).collect();
    links.push(layout.bridge());
    for link in links {
        if std::fs::exists(format!("/sys/class/net/{link}"))? {
            // The kernel removes a link with its namespace, perhaps between the look and the call.
            let removed = ip(&format!("link del {link}\n")).await;
            if std::fs::exists(format!("/sys/class/net/{link}"))? {
                removed?;
            }
        }
    }
    Ok(())
}

async fn ip(batch: &str) -> Result<()> {
    Command::new("ip").args(["-batch", "-"]).run_with_input(batch).await.map(drop)
}

/// First and last address of a route's destination; the default route touches nothing in particular.
fn range(destination: &str) -> Option<(u32, u32)> {
    let (address, length) = destination.split_once('/').unwrap_or((destination, "32"));
    let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
    let spread = u32::MAX.checked_shr(length).unwrap_or(0);
    let first = u32::from(address) & !spread;
    (length > 0).then_some((first, first | spread))
}
