//! Processes on the host of a Windows node.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::pod::Pod;
use crate::violation::{Violation, violation};
use crate::words::setters;

pub(super) fn host_process(pod: &Pod<'_>) -> Option<Violation> {
    let is_bad = |context: &Value| context.at("windowsOptions").flag("hostProcess");
    let names = pod.names_of(|container| is_bad(container.at("securityContext")));
    let setters = setters(is_bad(pod.context()), &names)?;
    let detail = format!("{setters} must not set securityContext.windowsOptions.hostProcess=true");
    Some(violation("hostProcess", detail))
}
