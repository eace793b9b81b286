//! Sysctls: only those that affect no other pod of the node.

use kubewright_apimachinery::view::View as _;

use crate::pod::Pod;
use crate::violation::{Violation, violation};

/// The sysctls that are safe, by the version since which they are known to be.
const SAFE: [(u64, &str); 14] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
    (37, "net.ipv4.tcp_slow_start_after_idle"),
    (37, "net.ipv4.tcp_notsent_lowat"),
];

pub(super) fn since_0(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 0)
}

pub(super) fn since_27(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 27)
}

pub(super) fn since_29(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 29)
}

pub(super) fn since_32(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 32)
}

pub(super) fn since_37(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, 37)
}

fn check(pod: &Pod<'_>, minor: u64) -> Option<Violation> {
    let is_safe = |name: &str| {
        let mut safe = SAFE.iter();
        safe.any(|(since, known)| *since <= minor && *known == name)
    };
    let names = pod.context().list("sysctls").iter();
    let names = names.map(|sysctl| sysctl.text("name"));
    let forbidden: Vec<&str> = names.filter(|name| !is_safe(name)).collect();
    (!forbidden.is_empty()).then(|| violation("forbidden sysctls", forbidden.join(", ")))
}
