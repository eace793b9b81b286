//! The ports of endpoints: where a Service's ports are on a pod.

use serde_json::{Map, Value};

use super::super::object::{Item, list, number, text};

/// What makes two ports of endpoints the same, and the order of different ones. (Upstream sorts by a hash of Go's.)
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PortKey {
    name: String,
    port: i64,
    protocol: String,
    application: String,
}

impl PortKey {
    pub(super) fn of(port: &Value) -> Self {
        let text = |field| text(port, field).to_owned();
        Self {
            name: text("/name"),
            port: number(port, "/port"),
            protocol: text("/protocol"),
            application: text("/appProtocol"),
        }
    }
}

/// The ports of the Service on a pod, each with the name, protocol and application protocol of the Service's port. A port
/// that the pod does not name is left out.
pub(super) fn ports(pod: &Item, service: &Value) -> Vec<Value> {
    let ports = list(service, "/spec/ports");
    let named = ports.iter().any(|port| port["targetPort"].is_string());
    let pod = if named {
        pod.object.value()
    } else {
        Value::Null
    };
    let mut found: Vec<Value> = ports
        .iter()
        .filter_map(|port| {
            let number = number_of(&pod, port)?;
            let mut shown = Map::new();
            shown.insert("name".to_owned(), text(port, "/name").into());
            shown.insert("port".to_owned(), number);
            shown.insert("protocol".to_owned(), port["protocol"].clone());
            if let Some(application) = port.get("appProtocol") {
                shown.insert("appProtocol".to_owned(), application.clone());
            }
            Some(Value::Object(shown))
        })
        .collect();
    found.sort_by_cached_key(PortKey::of);
    found
}

fn number_of(pod: &Value, port: &Value) -> Option<Value> {
    let target = &port["targetPort"];
    let Some(name) = target.as_str() else {
        return Some(target.clone());
    };
    let sidecars = list(pod, "/spec/initContainers")
        .iter()
        .filter(|container| container["restartPolicy"] == "Always");
    let containers = list(pod, "/spec/containers").iter().chain(sidecars);
    containers
        .flat_map(|container| list(container, "/ports"))
        .find(|own| own["name"] == name && own["protocol"] == port["protocol"])
        .map(|own| own["containerPort"].clone())
}
