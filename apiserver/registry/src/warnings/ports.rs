//! Warnings about ports of a pod's containers that stand in each other's way.

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::pod_secrets::CONTAINERS;

/// A port of one container of a pod.
struct Port<'a> {
    list: &'static str,
    container: usize,
    index: usize,
    value: &'a Value,
    /// What two ports must share to be worth a warning.
    key: (i64, &'a str),
}

impl Port<'_> {
    fn path(&self, spec: &Path<'_>) -> String {
        let list = spec.child(self.list);
        let container = list.index(self.container);
        let ports = container.child("ports");
        ports.index(self.index).to_string()
    }
}

fn all_ports(spec: &Value) -> Vec<Port<'_>> {
    let mut all: Vec<Port<'_>> = Vec::new();
    for list in CONTAINERS {
        for (container, holder) in spec.list(list).iter().enumerate() {
            for (index, value) in holder.list("ports").iter().enumerate() {
                let number = value.int("containerPort").unwrap_or(0);
                all.push(Port {
                    list,
                    container,
                    index,
                    value,
                    key: (number, value.text("protocol")),
                });
            }
        }
    }
    all
}

/// Names of ports that two containers share.
pub(crate) fn names(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let all = all_ports(spec);
    for (number, port) in all.iter().enumerate() {
        let name = port.value.text("name");
        let mut before = all[..number].iter();
        let first = before.find(|other| !name.is_empty() && other.value.text("name") == name);
        if let Some(first) = first {
            let (at, with) = (port.path(path), first.path(path));
            out.push(format!(
                "{at}: duplicate port name {} with {with}, services and probes that select ports by name will use {with}",
                quoted(name)
            ));
        }
    }
}

pub(crate) fn ports(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let all = all_ports(spec);
    for (number, port) in all.iter().enumerate() {
        let ip = port.value.text("hostIP");
        if !ip.is_empty() && port.value.int("hostPort").unwrap_or(0) == 0 {
            let (at, name) = (port.path(path), port.value.text("name"));
            let (number, protocol) = port.key;
            // Go's own words for a struct.
            out.push(format!(
                "{at}: hostIP set without hostPort: {{Name:{name} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{ip}}}"
            ));
        }
        for other in all[..number].iter().filter(|other| other.key == port.key) {
            let of = |port: &Port<'_>| {
                let host = port.value.int("hostPort").unwrap_or(0);
                (port.value.text("hostIP").to_owned(), host)
            };
            let ((ip, host), (other_ip, other_host)) = (of(port), of(other));
            let how = if ip == other_ip && host == other_host {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            let (at, with) = (port.path(path), other.path(path));
            out.push(format!("{at}: {how} port definition with {with}"));
        }
    }
}
