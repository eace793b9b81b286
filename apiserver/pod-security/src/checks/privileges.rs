//! Privileged containers, and processes that gain privileges.

use kubewright_apimachinery::view::View as _;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::containers;

pub(super) fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let names = pod.names_of(|container| container.at("securityContext").flag("privileged"));
    (!names.is_empty()).then(|| {
        let names = containers(&names);
        let detail = format!("{names} must not set securityContext.privileged=true");
        violation("privileged", detail)
    })
}

pub(super) fn escalation(pod: &Pod<'_>) -> Option<Violation> {
    const FIELD: &str = "allowPrivilegeEscalation";
    let names = pod.names_of(|container| container.at("securityContext").at(FIELD) != false);
    (!names.is_empty()).then(|| {
        let names = containers(&names);
        let detail = format!("{names} must set securityContext.{FIELD}=false");
        violation("allowPrivilegeEscalation != false", detail)
    })
}

pub(super) fn escalation_but_on_windows(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_windows() {
        None
    } else {
        escalation(pod)
    }
}
