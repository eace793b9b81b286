//! AppArmor profiles: the runtime's, or one of the node.

use std::collections::BTreeSet;

use kubewright_apimachinery::go_text;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{containers, plural, quoted};

const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn profile(pod: &Pod<'_>) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let mut is_bad = |context: &Value| {
        let profile = context.at("appArmorProfile");
        let kind = profile.text("type").to_owned();
        let is_bad = !profile.is_null() && !matches!(kind.as_str(), "RuntimeDefault" | "Localhost");
        if is_bad {
            types.insert(kind);
        }
        is_bad
    };
    let mut setters = Vec::new();
    if is_bad(pod.context()) {
        setters.push("pod".to_owned());
    }
    let names = pod.names_of(|container| is_bad(container.at("securityContext")));
    if !names.is_empty() {
        setters.push(containers(&names));
    }
    let annotations = pod.annotations.as_object().into_iter().flatten();
    let annotations = annotations.filter_map(|(key, value)| {
        let value = value.as_str().unwrap_or_default();
        let is_allowed =
            value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
        (key.starts_with(ANNOTATION) && !is_allowed)
            .then(|| format!("{key}={}", go_text::quoted(value)))
    });
    let mut annotations: Vec<String> = annotations.collect();
    annotations.sort();
    let mut values: Vec<String> = types.into_iter().collect();
    if !annotations.is_empty() {
        setters.push(plural("annotation", annotations.len()));
        values.extend(annotations);
    }
    if setters.is_empty() {
        return None;
    }
    let reason = plural("forbidden AppArmor profile", values.len());
    Some(violation(
        &reason,
        format!(
            "{} must not set AppArmor profile type to {}",
            setters.join(" and "),
            quoted(values.iter().map(String::as_str))
        ),
    ))
}
