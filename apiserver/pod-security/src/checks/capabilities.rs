//! Capabilities: baseline pods add only those of the default set, restricted ones drop all.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{containers, quoted_set};

const DEFAULT_SET: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn baseline(pod: &Pod<'_>) -> Option<Violation> {
    let added = adding(pod, |capability| DEFAULT_SET.contains(&capability))?;
    Some(violation("non-default capabilities", added))
}

pub(super) fn restricted(pod: &Pod<'_>) -> Option<Violation> {
    let keeps = pod.names_of(|container| {
        let mut dropped = capabilities(container, "drop");
        !dropped.any(|capability| capability == "ALL")
    });
    let mut details = Vec::new();
    if !keeps.is_empty() {
        details.push(format!(
            r#"{} must set securityContext.capabilities.drop=["ALL"]"#,
            containers(&keeps)
        ));
    }
    details.extend(adding(pod, |capability| capability == "NET_BIND_SERVICE"));
    (!details.is_empty()).then(|| violation("unrestricted capabilities", details.join("; ")))
}

pub(super) fn restricted_but_on_windows(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_windows() {
        None
    } else {
        restricted(pod)
    }
}

fn adding(pod: &Pod<'_>, is_allowed: impl Fn(&str) -> bool) -> Option<String> {
    let mut forbidden = BTreeSet::new();
    let names = pod.names_of(|container| {
        let added = capabilities(container, "add");
        let added: Vec<&str> = added.filter(|capability| !is_allowed(capability)).collect();
        forbidden.extend(&added);
        !added.is_empty()
    });
    (!names.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&names),
            quoted_set(&forbidden)
        )
    })
}

fn capabilities<'a>(container: &'a Value, list: &str) -> impl Iterator<Item = &'a str> {
    let capabilities = container.at("securityContext").at("capabilities");
    capabilities.list(list).iter().filter_map(Value::as_str)
}
