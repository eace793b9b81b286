//! SELinux: the types of containers, and neither user nor role.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{plural, quoted, setters};

const TYPES: [&str; 4] = ["", "container_t", "container_init_t", "container_kvm_t"];

pub(super) fn options(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, |kind| TYPES.contains(&kind))
}

pub(super) fn options_since_31(pod: &Pod<'_>) -> Option<Violation> {
    check(pod, |kind| {
        TYPES.contains(&kind) || kind == "container_engine_t"
    })
}

fn check(pod: &Pod<'_>, is_allowed: impl Fn(&str) -> bool) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let (mut user, mut role) = (false, false);
    let mut is_bad = |context: &Value| {
        let options = context.at("seLinuxOptions");
        let kind = options.text("type");
        let has = ["user", "role"].map(|field| !options.text(field).is_empty());
        user |= has[0];
        role |= has[1];
        if !is_allowed(kind) {
            types.insert(kind.to_owned());
        }
        !is_allowed(kind) || has != [false, false]
    };
    let by_pod = is_bad(pod.context());
    let names = pod.names_of(|container| is_bad(container.at("securityContext")));
    let setters = setters(by_pod, &names)?;
    let mut data = Vec::new();
    if !types.is_empty() {
        let word = plural("type", types.len());
        data.push(format!(
            "{word} {}",
            quoted(types.iter().map(String::as_str))
        ));
    }
    if user {
        data.push("user may not be set".to_owned());
    }
    if role {
        data.push("role may not be set".to_owned());
    }
    let data = data.join("; ");
    let detail = format!("{setters} set forbidden securityContext.seLinuxOptions: {data}");
    Some(violation("seLinuxOptions", detail))
}
