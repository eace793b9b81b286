//! What a pod shares with its node: namespaces, ports, and hosts that the kubelet is sent to.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{containers, plural, quoted_set, uses};

pub(super) fn namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"];
    let shared = fields.iter().filter(|field| pod.spec.flag(field));
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    (!shared.is_empty()).then(|| violation("host namespaces", shared.join(", ")))
}

pub(super) fn ports(pod: &Pod<'_>) -> Option<Violation> {
    let mut ports = BTreeSet::new();
    let names = pod.names_of(|container| {
        let used = container.list("ports").iter();
        let used = used.filter_map(|port| port.int("hostPort").filter(|port| *port != 0));
        let used: Vec<String> = used.map(|port| port.to_string()).collect();
        let is_bad = !used.is_empty();
        ports.extend(used);
        is_bad
    });
    let count = ports.len();
    let ports: Vec<String> = ports.into_iter().collect();
    (!names.is_empty()).then(|| {
        let detail = format!(
            "{} {} {} {}",
            containers(&names),
            uses(names.len()),
            plural("hostPort", count),
            ports.join(", ")
        );
        violation("hostPort", detail)
    })
}

pub(super) fn probes(pod: &Pod<'_>) -> Option<Violation> {
    let mut hosts = BTreeSet::new();
    let names = pod.names_of(|container| {
        let lifecycle = container.at("lifecycle");
        let handlers = [
            container.at("livenessProbe"),
            container.at("readinessProbe"),
            container.at("startupProbe"),
            lifecycle.at("postStart"),
            lifecycle.at("preStop"),
        ];
        let found = handlers.into_iter().flat_map(hosts_of);
        let before = found.collect::<Vec<&str>>();
        hosts.extend(&before);
        !before.is_empty()
    });
    let names: BTreeSet<&str> = names.into_iter().collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        let detail = format!(
            "{} {} {} {}",
            containers(&names),
            uses(names.len()),
            plural("probe or lifecycle host", hosts.len()),
            quoted_set(&hosts)
        );
        violation("probe or lifecycle host", detail)
    })
}

fn hosts_of(handler: &Value) -> impl Iterator<Item = &str> {
    let hosts = ["httpGet", "tcpSocket"].map(|way| handler.at(way).text("host"));
    hosts.into_iter().filter(|host| !host.is_empty())
}
