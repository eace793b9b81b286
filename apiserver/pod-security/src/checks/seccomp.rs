//! Seccomp profiles: the runtime's, or one of the node; restricted pods must have one.

use std::collections::BTreeSet;

use kubewright_apimachinery::go_text;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{containers, plural, quoted, setters};

/// Until there was a field, annotations named the profiles.
pub(super) fn annotations(pod: &Pod<'_>) -> Option<Violation> {
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let of_containers = pod
        .containers()
        .map(|container| format!("{CONTAINER}{}", container.text("name")));
    let keys = std::iter::once(POD.to_owned()).chain(of_containers);
    let forbidden = keys.filter_map(|key| {
        let value = pod.annotations.at(&key).as_str()?;
        let is_allowed = matches!(value, "runtime/default" | "docker/default")
            || value.starts_with("localhost/");
        (!is_allowed).then(|| format!("{key}={}", go_text::quoted(value)))
    });
    let forbidden: BTreeSet<String> = forbidden.collect();
    (!forbidden.is_empty()).then(|| {
        let word = plural("annotation", forbidden.len());
        let forbidden: Vec<String> = forbidden.into_iter().collect();
        violation(
            "seccompProfile",
            format!("forbidden {word} {}", forbidden.join(", ")),
        )
    })
}

pub(super) fn baseline(pod: &Pod<'_>) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let mut is_bad = |context: &Value| {
        let kind = kind(context);
        let forbidden = kind.filter(|kind| !is_allowed(kind));
        types.extend(forbidden.map(str::to_owned));
        forbidden.is_some()
    };
    let by_pod = is_bad(pod.context());
    let names = pod.names_of(|container| is_bad(container.at("securityContext")));
    let setters = setters(by_pod, &names)?;
    let detail = format!(
        "{setters} must not set securityContext.seccompProfile.type to {}",
        quoted(types.iter().map(String::as_str))
    );
    Some(violation("seccompProfile", detail))
}

pub(super) fn restricted(pod: &Pod<'_>) -> Option<Violation> {
    if let Some(found) = baseline(pod) {
        return Some(found);
    }
    if kind(pod.context()).is_some() {
        return None;
    }
    let unset = pod.names_of(|container| kind(container.at("securityContext")).is_none());
    (!unset.is_empty()).then(|| {
        let detail = format!(
            r#"pod or {} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#,
            containers(&unset)
        );
        violation("seccompProfile", detail)
    })
}

pub(super) fn restricted_but_on_windows(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_windows() {
        None
    } else {
        restricted(pod)
    }
}

fn kind(context: &Value) -> Option<&str> {
    let profile = context.at("seccompProfile");
    (!profile.is_null()).then(|| profile.text("type"))
}

fn is_allowed(kind: &str) -> bool {
    matches!(kind, "Localhost" | "RuntimeDefault")
}
