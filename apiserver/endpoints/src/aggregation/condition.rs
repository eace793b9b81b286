//! The condition `Available` of an APIService: whether the service can be there at all, by what the store says of it.

use kubewright_admission::Cluster as _;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_webhook_client::{ServicePort, Services as _};
use serde_json::{Value, json};

use super::registration::Registration;
use crate::rest::shared::Shared;

/// The condition, but for its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Available {
    pub(super) is_true: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Available {
    fn no(reason: &'static str, message: String) -> Self {
        Self {
            is_true: false,
            reason,
            message,
        }
    }

    /// The service answers.
    pub(super) fn passed() -> Self {
        Self {
            is_true: true,
            reason: "Passed",
            message: "all checks passed".to_owned(),
        }
    }

    /// The service does not answer.
    pub(super) fn failed(why: String) -> Self {
        Self::no("FailedDiscoveryCheck", why)
    }

    /// The version is served by this server.
    fn local() -> Self {
        Self {
            is_true: true,
            reason: "Local",
            message: "Local APIServices are always available".to_owned(),
        }
    }
}

/// What the service lacks, if the store alone tells that it cannot answer.
pub(super) fn lack(shared: &Shared, service: &ServicePort) -> Option<Available> {
    let ServicePort {
        namespace,
        name,
        port,
    } = service;
    let table = shared.reach().client.services();
    if table.address(namespace, name, *port).is_some() {
        return None;
    }
    let (cluster, shown) = (&shared.cluster, quoted(namespace));
    let Some(stored) = cluster.service(namespace, name) else {
        let message = format!("service/{name} in {shown} is not present");
        return Some(Available::no("ServiceNotFound", message));
    };
    let spec = stored.at("spec");
    if !matches!(spec.text("type"), "ClusterIP" | "") {
        return None;
    }
    let mut ports = spec.list("ports").iter();
    let Some(found) = ports.find(|known| known["port"] == *port) else {
        let message = format!("service/{name} in {shown} is not listening on port {port}");
        return Some(Available::no("ServicePortError", message));
    };
    let port_name = found.text("name");
    let slices = cluster.list("discovery.k8s.io", "endpointslices", namespace);
    let mut own = slices
        .iter()
        .filter(|slice| {
            let labels = slice.at("metadata").at("labels");
            labels.text("kubernetes.io/service-name") == name
        })
        .peekable();
    if own.peek().is_none() {
        let message = format!("cannot find endpointslices for service/{name} in {shown}");
        return Some(Available::no("EndpointsNotFound", message));
    }
    if own.any(|slice| is_ready(slice, port_name)) {
        return None;
    }
    let message = format!(
        "endpointslices for service/{name} in {shown} have no addresses with port name {}",
        quoted(port_name)
    );
    Some(Available::no("MissingEndpoints", message))
}

fn is_ready(slice: &Value, port: &str) -> bool {
    let mut endpoints = slice.list("endpoints").iter();
    let mut ports = slice.list("ports").iter();
    endpoints.any(|endpoint| endpoint.at("conditions").at("ready") != false)
        && ports.any(|it| it.text("name") == port && it.has("port"))
}

/// Writes the condition, unless the APIService has it or leads elsewhere by now.
pub(super) fn write(shared: &Shared, checked: &Registration, available: &Available) {
    rewrite(shared, &checked.name, |now| {
        now.leads_where(checked).then(|| available.clone())
    });
}

/// Writes that the version is served by this server, if the APIService no longer names a service.
pub(super) fn write_local(shared: &Shared, name: &str) {
    rewrite(shared, name, |now| {
        now.service.is_none().then(Available::local)
    });
}

fn rewrite(shared: &Shared, name: &str, decide: impl Fn(&Registration) -> Option<Available>) {
    const GROUP: &str = "apiregistration.k8s.io";
    const RESOURCE: &str = "apiservices";
    loop {
        let Some(read) = shared.cluster.get(GROUP, RESOURCE, "", name) else {
            return;
        };
        let Some(available) = decide(&Registration::of(&read)) else {
            return;
        };
        let Some(written) = with(&read, &available) else {
            return;
        };
        match shared
            .cluster
            .replace_status(GROUP, RESOURCE, &read, written)
        {
            Ok(true) => return,
            // Another client was faster: its object is read again.
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(name, error, "cannot write the status of an APIService");
                return;
            }
        }
    }
}

/// The object with the condition; none if it has it.
fn with(read: &Value, available: &Available) -> Option<Value> {
    let status = if available.is_true { "True" } else { "False" };
    let mut new = json!({
        "type": "Available",
        "status": status,
        "lastTransitionTime": now(),
        "reason": available.reason,
        "message": available.message,
    });
    let mut conditions = read.at("status").list("conditions").to_vec();
    let old = conditions
        .iter_mut()
        .find(|condition| condition.text("type") == "Available");
    match old {
        Some(old) => {
            if old.text("status") == status {
                new.take_from(old, "lastTransitionTime");
            }
            if *old == new {
                return None;
            }
            *old = new;
        }
        None => conditions.push(new),
    }
    let mut written = read.clone();
    written.part("status")?.put("conditions", conditions);
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_is_that_of_its_last_change() {
        let old = "2020-01-01T00:00:00Z";
        let read = json!({"status": {"conditions": [{
            "type": "Available", "status": "True", "lastTransitionTime": old,
            "reason": "Passed", "message": "all checks passed",
        }]}});
        assert_eq!(with(&read, &Available::passed()), None);
        let local = with(&read, &Available::local()).unwrap();
        let condition = &local["status"]["conditions"][0];
        assert_eq!(condition["reason"], "Local");
        assert_eq!(condition["lastTransitionTime"], old);
        let failed = with(&read, &Available::failed("x".to_owned())).unwrap();
        let condition = &failed["status"]["conditions"][0];
        assert_eq!(condition["status"], "False");
        assert_ne!(condition["lastTransitionTime"], old);
    }
}
