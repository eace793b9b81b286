//! What the scheduler knows of a pod and of a node: requests, ports, priorities, allocatable resources.

use std::collections::BTreeMap;

use kubewright_apimachinery::quantity::Quantity;
use serde_json::{Map, Value};

use super::super::super::object::{list, map, number, text};

/// Amounts of resources in thousandths, by name.
pub(super) type Resources = BTreeMap<String, i128>;

/// A port of a node that a container takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    address: String,
    protocol: String,
    number: i64,
}

impl Port {
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        const ALL: &str = "0.0.0.0";
        self.number == other.number
            && self.protocol == other.protocol
            && (self.address == other.address || self.address == ALL || other.address == ALL)
    }
}

/// The parts of a pod that its place depends on, and that do not change.
#[derive(Debug)]
pub(super) struct PodFacts {
    pub(super) requests: Resources,
    pub(super) ports: Vec<Port>,
    pub(super) priority: i64,
    /// The required terms of its anti-affinity.
    pub(super) anti_affinity: Vec<Value>,
}

impl PodFacts {
    pub(super) fn of(pod: &Value) -> Self {
        let anti_affinity = list(
            pod,
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution",
        );
        Self {
            requests: requests(&pod["spec"]),
            ports: ports(&pod["spec"]),
            priority: number(pod, "/spec/priority"),
            anti_affinity: anti_affinity.to_vec(),
        }
    }
}

/// A node as the scheduler sees it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) object: Value,
    pub(super) labels: Map<String, Value>,
    /// `None` for a node without a status: what it has is not counted.
    pub(super) allocatable: Option<Resources>,
}

impl Node {
    pub(super) fn of(object: Value) -> Self {
        let allocatable = &object["status"]["allocatable"];
        Self {
            name: text(&object, "/metadata/name").to_owned(),
            labels: map(&object, "/metadata/labels"),
            allocatable: allocatable.is_object().then(|| amounts(allocatable)),
            object,
        }
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)?.as_str()
    }
}

fn amounts(resources: &Value) -> Resources {
    let named = resources.as_object().into_iter().flatten();
    named
        .filter_map(|(name, amount)| Some((name.clone(), Quantity::from_value(amount)?.millis())))
        .collect()
}

pub(super) fn add(sum: &mut Resources, more: &Resources) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

fn at_least(sum: &mut Resources, least: &Resources) {
    for (name, amount) in least {
        let known = sum.entry(name.clone()).or_default();
        *known = (*known).max(*amount);
    }
}

/// What a pod asks for: its containers together or, if that is more, one of its init containers beside the sidecars that
/// run by then.
fn requests(spec: &Value) -> Resources {
    let mut together = Resources::new();
    for container in list(spec, "/containers") {
        add(&mut together, &amounts(&container["resources"]["requests"]));
    }
    let (mut sidecars, mut first) = (Resources::new(), Resources::new());
    for container in list(spec, "/initContainers") {
        let mut own = amounts(&container["resources"]["requests"]);
        if container["restartPolicy"] == "Always" {
            add(&mut sidecars, &own);
            own.clone_from(&sidecars);
        } else {
            add(&mut own, &sidecars);
        }
        at_least(&mut first, &own);
    }
    add(&mut together, &sidecars);
    at_least(&mut together, &first);
    // What the pod asks for as a whole is instead of what its containers do.
    together.extend(amounts(&spec["resources"]["requests"]));
    add(&mut together, &amounts(&spec["overhead"]));
    together.retain(|_, amount| *amount > 0);
    together
}

fn ports(spec: &Value) -> Vec<Port> {
    let sidecars = list(spec, "/initContainers")
        .iter()
        .filter(|container| container["restartPolicy"] == "Always");
    let containers = list(spec, "/containers").iter().chain(sidecars);
    containers
        .flat_map(|container| list(container, "/ports"))
        .filter(|port| number(port, "/hostPort") > 0)
        .map(|port| {
            let or = |pointer: &str, default: &str| match text(port, pointer) {
                "" => default.to_owned(),
                text => text.to_owned(),
            };
            Port {
                address: or("/hostIP", "0.0.0.0"),
                protocol: or("/protocol", "TCP"),
                number: number(port, "/hostPort"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cpu(amount: &str) -> Value {
        json!({"requests": {"cpu": amount}})
    }

    #[test]
    fn a_pod_asks_for_its_containers_its_sidecars_and_its_overhead() {
        for (spec, millis) in [
            (
                json!({"containers": [{"resources": cpu("100m")}, {"resources": cpu("1")}]}),
                1100,
            ),
            (
                json!({"containers": [{"resources": cpu("1")}], "initContainers": [{"resources": cpu("3")}]}),
                3000,
            ),
            (
                json!({
                    "containers": [{"resources": cpu("1")}],
                    "initContainers": [
                        {"resources": cpu("2"), "restartPolicy": "Always"},
                        {"resources": cpu("1500m")},
                    ],
                    "overhead": {"cpu": "5m"},
                }),
                3505,
            ),
            (
                json!({"containers": [{"resources": cpu("1")}], "resources": cpu("2")}),
                2000,
            ),
        ] {
            let expected = Resources::from([("cpu".to_owned(), millis)]);
            assert_eq!(requests(&spec), expected, "{spec}");
        }
    }

    #[test]
    fn ports_conflict_on_the_same_address_or_on_all() {
        let port = |address: &str, protocol: &str| {
            let port = json!({"hostPort": 80, "hostIP": address, "protocol": protocol});
            ports(&json!({"containers": [{"ports": [port]}]})).remove(0)
        };
        let one = port("127.0.0.1", "TCP");
        assert!(one.conflicts(&port("127.0.0.1", "TCP")));
        assert!(one.conflicts(&port("", "TCP")));
        assert!(!one.conflicts(&port("127.0.0.2", "TCP")));
        assert!(!one.conflicts(&port("127.0.0.1", "UDP")));
    }
}
