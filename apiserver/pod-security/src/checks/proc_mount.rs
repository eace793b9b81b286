//! How `/proc` is mounted.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View as _;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::{containers, quoted_set};

pub(super) fn always(pod: &Pod<'_>) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let names = pod.names_of(|container| {
        let mount = container.at("securityContext").at("procMount").as_str();
        let forbidden = mount.filter(|mount| *mount != "Default");
        types.extend(forbidden);
        forbidden.is_some()
    });
    (!names.is_empty()).then(|| {
        let detail = format!(
            "{} must not set securityContext.procMount to {}",
            containers(&names),
            quoted_set(&types)
        );
        violation("procMount", detail)
    })
}

pub(super) fn outside_user_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_in_user_namespace() {
        None
    } else {
        always(pod)
    }
}
