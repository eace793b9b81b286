//! What an object of a kind uses, and which quotas that concerns.

use jiff::Timestamp;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::status::qualified;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::list::ResourceList;
use crate::quota::Quota;
use crate::scope::Scope;
use crate::{pod, volume_claim};

/// Evaluates the objects of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluator {
    group: String,
    plural: String,
    rules: Rules,
}

/// What is special about a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    Pods,
    Services,
    VolumeClaims,
    ResourceClaims,
    /// Its objects are counted, by this name besides `count/<resource>`.
    Count(Option<&'static str>),
}

/// A request that may use more of a quota.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "an object with the one that it replaces, and nothing else"
)]
pub struct Request<'a> {
    /// The sub-resource; empty for the object itself.
    pub subresource: &'a str,
    /// The object as it is about to be stored.
    pub object: &'a Value,
    /// The object as it is; none for a new one.
    pub old: Option<&'a Value>,
    /// The time of the request.
    pub now: Timestamp,
}

/// The resources whose objects are more than counted, or counted by a second name.
pub(crate) const SPECIAL: [(&str, &str); 8] = [
    ("", "pods"),
    ("", "services"),
    ("", "persistentvolumeclaims"),
    ("resource.k8s.io", "resourceclaims"),
    ("", "configmaps"),
    ("", "resourcequotas"),
    ("", "replicationcontrollers"),
    ("", "secrets"),
];

/// Resources whose objects are not stored, and events: no quota concerns them.
const IGNORED: [(&str, &str); 10] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("", "events"),
    ("events.k8s.io", "events"),
];

const SERVICES: [&str; 3] = ["services", "services.nodeports", "services.loadbalancers"];
const PER_DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// All devices of a node: what a claim for all of them can be given.
const MOST_DEVICES: i64 = 32;

impl<'a> Request<'a> {
    /// The creation of an object, now.
    pub fn create(object: &'a Value) -> Self {
        Self {
            subresource: "",
            object,
            old: None,
            now: Timestamp::now(),
        }
    }
}

impl Evaluator {
    /// The evaluator of a resource.
    pub fn of(group: &str, plural: &str) -> Self {
        let rules = if group.is_empty() {
            match plural {
                "pods" => Rules::Pods,
                "services" => Rules::Services,
                "persistentvolumeclaims" => Rules::VolumeClaims,
                "configmaps" => Rules::Count(Some("configmaps")),
                "resourcequotas" => Rules::Count(Some("resourcequotas")),
                "replicationcontrollers" => Rules::Count(Some("replicationcontrollers")),
                "secrets" => Rules::Count(Some("secrets")),
                _ => Rules::Count(None),
            }
        } else if group == "resource.k8s.io" && plural == "resourceclaims" {
            Rules::ResourceClaims
        } else {
            Rules::Count(None)
        };
        Self {
            group: group.to_owned(),
            plural: plural.to_owned(),
            rules,
        }
    }

    /// Whether quotas never concern a resource.
    pub fn ignores(group: &str, plural: &str) -> bool {
        IGNORED.contains(&(group, plural))
    }

    /// The group and the plural name of the resource.
    pub(crate) fn resource(&self) -> (&str, &str) {
        (&self.group, &self.plural)
    }

    /// Whether a request can change what is used.
    pub fn handles(&self, request: &Request<'_>) -> bool {
        let subresource = request.subresource;
        let creates = request.old.is_none();
        match self.rules {
            Rules::Pods if subresource == "resize" => !creates,
            Rules::Pods => {
                let moves = |old| pod::is_terminating(old) != pod::is_terminating(request.object);
                subresource.is_empty() && request.old.is_none_or(moves)
            }
            // A claim's status says what its volume was given.
            Rules::VolumeClaims => matches!(subresource, "" | "status"),
            Rules::Services | Rules::ResourceClaims => subresource.is_empty(),
            Rules::Count(_) => subresource.is_empty() && creates,
        }
    }

    /// Which of these names of resources are about objects of this kind.
    pub fn matching<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let count = self.count_name();
        let matches = |name: &&str| {
            *name == count
                || match self.rules {
                    Rules::Pods => pod::is_resource(name),
                    Rules::Services => SERVICES.contains(name),
                    Rules::VolumeClaims => volume_claim::is_resource(name),
                    Rules::ResourceClaims => name.ends_with(PER_DEVICE_CLASS),
                    Rules::Count(alias) => alias == Some(*name),
                }
        };
        names.filter(matches).map(str::to_owned).collect()
    }

    /// Whether an object is in all scopes of a quota.
    pub fn is_in_scope(&self, quota: &Quota, object: &Value) -> bool {
        let is_in = |scope: &Scope| match self.rules {
            Rules::Pods => pod::is_in_scope(scope, object),
            Rules::VolumeClaims => volume_claim::is_in_scope(scope, object),
            Rules::Services | Rules::ResourceClaims | Rules::Count(_) => false,
        };
        quota.scopes.iter().all(is_in)
    }

    /// Says what an object must specify where a quota restricts these resources.
    ///
    /// # Errors
    /// The resources that are missing, and the containers that do not specify them.
    pub fn constraints(&self, restricted: &[String], object: &Value) -> Result<(), String> {
        match self.rules {
            Rules::Pods => pod::constraints(restricted, object),
            _ => Ok(()),
        }
    }

    /// What an object uses.
    pub fn usage(&self, object: &Value, now: Timestamp) -> ResourceList {
        let one = Quantity::from(1);
        let mut used = ResourceList::default();
        used.set(self.count_name(), one);
        match self.rules {
            Rules::Pods => pod::add_usage(object, now, &mut used),
            Rules::Services => add_service(object.at("spec"), &mut used),
            Rules::VolumeClaims => volume_claim::add_usage(object, &mut used),
            Rules::ResourceClaims => add_devices(object, &mut used),
            Rules::Count(Some(alias)) => used.set(alias, one),
            Rules::Count(None) => {}
        }
        used
    }

    fn count_name(&self) -> String {
        format!("count/{}", qualified(&self.plural, &self.group))
    }
}

fn add_service(spec: &Value, used: &mut ResourceList) {
    let ports = spec.list("ports");
    let all = ports.len();
    let given = ports
        .iter()
        .filter(|port| port.int("nodePort").is_some_and(|port| port != 0));
    let (node_ports, load_balancers) = match spec.text("type") {
        "NodePort" => (all, 0),
        "LoadBalancer" if spec.at("allocateLoadBalancerNodePorts") == false => (given.count(), 1),
        "LoadBalancer" => (all, 1),
        _ => (0, 0),
    };
    used.set("services", Quantity::from(1));
    used.set("services.loadbalancers", Quantity::from(load_balancers));
    let node_ports = i64::try_from(node_ports).unwrap_or(i64::MAX);
    used.set("services.nodeports", Quantity::from(node_ports));
}

/// Adds the devices that a claim can be given: of alternatives, the most of each class.
fn add_devices(claim: &Value, used: &mut ResourceList) {
    let devices = |request: &Value| -> (String, Quantity) {
        let count = match request.text("allocationMode") {
            "ExactCount" => request.int("count").unwrap_or(0),
            "All" => MOST_DEVICES,
            _ => 0,
        };
        let class = request.text("deviceClassName");
        (format!("{class}{PER_DEVICE_CLASS}"), Quantity::from(count))
    };
    for request in claim.at("spec").at("devices").list("requests") {
        let alternatives = request.list("firstAvailable");
        let mut most = ResourceList::default();
        if alternatives.is_empty() {
            // The first beta version had the fields of `exactly` in the request itself.
            let exactly = request.at("exactly");
            let request = if exactly.is_null() { request } else { exactly };
            most.raise(&ResourceList::from_iter([devices(request)]));
        } else {
            let each = alternatives.iter().map(devices);
            each.filter(|(_, count)| !count.is_zero())
                .for_each(|devices| most.raise(&ResourceList::from_iter([devices])));
        }
        used.add(&most);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(group: &str, plural: &str, object: &Value) -> String {
        let evaluator = Evaluator::of(group, plural);
        evaluator.usage(object, Timestamp::now()).shown()
    }

    #[test]
    fn a_service_uses_node_ports_by_its_type() {
        let service = |spec: Value| used("", "services", &json!({ "spec": spec }));
        let ports = json!([{"port": 80, "nodePort": 30080}, {"port": 81}]);
        assert_eq!(
            service(json!({"type": "NodePort", "ports": ports})),
            "count/services=1,services=1,services.loadbalancers=0,services.nodeports=2"
        );
        assert_eq!(
            service(
                json!({"type": "LoadBalancer", "ports": ports, "allocateLoadBalancerNodePorts": false})
            ),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1"
        );
    }

    #[test]
    fn a_claim_for_devices_uses_the_most_of_each_class() {
        let request = |class: &str, count: i64| json!({"deviceClassName": class, "allocationMode": "ExactCount", "count": count});
        let claim = json!({"spec": {"devices": {"requests": [
            {"firstAvailable": [request("gpu", 2), request("gpu", 3), request("tpu", 1)]},
            {"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
        ]}}});
        assert_eq!(
            used("resource.k8s.io", "resourceclaims", &claim),
            "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=35,tpu.deviceclass.resource.k8s.io/devices=1"
        );
    }

    #[test]
    fn other_objects_are_counted_when_they_are_created() {
        let evaluator = Evaluator::of("apps", "deployments");
        let object = json!({});
        assert_eq!(
            used("apps", "deployments", &object),
            "count/deployments.apps=1"
        );
        let create = Request::create(&object);
        assert!(evaluator.handles(&create));
        let old = Some(&object);
        assert!(!evaluator.handles(&Request { old, ..create }));
    }
}
