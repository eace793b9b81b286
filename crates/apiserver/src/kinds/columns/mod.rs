//! The columns that `kubectl get` shows for each kind, and their cells.
//!
//! The server always makes the wide cells; clients leave out what has priority 1.

mod cluster;
mod definition;
mod network;
mod pods;
mod storage;
#[cfg(test)]
mod tests;
mod text;
mod workloads;

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Resource;

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the five members of a TableColumnDefinition"
)]
pub struct Column {
    /// The title, such as `Up-to-date`.
    pub name: &'static str,
    /// `string`, `integer`, `boolean` or `date`.
    pub kind: &'static str,
    /// `name` for the object's name, otherwise empty.
    pub format: &'static str,
    /// What the column shows.
    pub description: &'static str,
    /// 0, or 1 for a column that only the wide output shows.
    pub priority: i32,
}

/// The columns of a kind.
pub fn definitions(resource: &Resource) -> &'static [Column] {
    definition::of(&resource.group, &resource.kind)
}

/// The cells of one object, one per column of [`definitions`].
pub fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let view = Row { object, now };
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => pods::pod(view),
        ("", "PodTemplate") => pods::template(view),
        ("", "ReplicationController") => workloads::replication_controller(view),
        ("apps", "ReplicaSet") => workloads::replica_set(view),
        ("apps", "Deployment") => workloads::deployment(view),
        ("apps", "StatefulSet") => workloads::stateful_set(view),
        ("apps", "DaemonSet") => workloads::daemon_set(view),
        ("apps", "ControllerRevision") => workloads::controller_revision(view),
        ("batch", "Job") => workloads::job(view),
        ("batch", "CronJob") => workloads::cron_job(view),
        ("policy", "PodDisruptionBudget") => workloads::disruption_budget(view),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            workloads::autoscaler(&resource.version, view)
        }
        ("autoscaling", "Scale") => workloads::scale(view),
        ("", "Service") => network::service(view),
        ("", "Endpoints") => network::endpoints(view),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(view),
        ("networking.k8s.io", "Ingress") => network::ingress(view),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(view),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(view),
        ("networking.k8s.io", "ServiceCIDR") => network::service_cidr(view),
        ("networking.k8s.io", "IPAddress") => network::ip_address(view),
        ("", "Namespace") => cluster::namespace(view),
        ("", "Node") => cluster::node(view),
        ("", "Event") => cluster::event(view),
        ("events.k8s.io", "Event") => cluster::new_event(view),
        ("", "Secret") => cluster::secret(view),
        ("", "ConfigMap") => cluster::config_map(view),
        ("", "ServiceAccount") => vec![view.name(), view.age()],
        ("", "ResourceQuota") => cluster::resource_quota(view),
        ("", "ComponentStatus") => cluster::component_status(view),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            cluster::role_binding(view)
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => cluster::signing_request(view),
        ("certificates.k8s.io", "ClusterTrustBundle") => cluster::trust_bundle(view),
        ("coordination.k8s.io", "Lease") => cluster::lease(view),
        ("coordination.k8s.io", "LeaseCandidate") => cluster::lease_candidate(view),
        ("scheduling.k8s.io", "PriorityClass") => cluster::priority_class(view),
        ("node.k8s.io", "RuntimeClass") => cluster::runtime_class(view),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => cluster::webhook_configuration(view),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            cluster::admission_policy(view, "validations")
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            cluster::admission_policy(view, "mutations")
        }
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => cluster::admission_policy_binding(view),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => cluster::flow_schema(view),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            cluster::priority_level(view)
        }
        ("", "PersistentVolume") => storage::volume(view),
        ("", "PersistentVolumeClaim") => storage::claim(view),
        ("storage.k8s.io", "StorageClass") => storage::class(view),
        ("storage.k8s.io", "VolumeAttributesClass") => storage::attributes_class(view),
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment(view),
        ("storage.k8s.io", "CSIDriver") => storage::driver(view),
        ("storage.k8s.io", "CSINode") => storage::node(view),
        ("apiregistration.k8s.io", "APIService") => cluster::api_service(view),
        ("resource.k8s.io", "ResourceClaim") => storage::resource_claim(view),
        ("resource.k8s.io", "ResourceClaimTemplate" | "DeviceClass") => {
            vec![view.name(), view.age()]
        }
        ("resource.k8s.io", "ResourceSlice") => storage::resource_slice(view),
        _ => vec![
            view.name(),
            object.at("metadata").at("creationTimestamp").clone(),
        ],
    }
}

/// How long ago or how long: `5s`, `3m2s`, `2d`, as kubectl users know it.
pub fn duration(seconds: i64) -> String {
    text::duration(seconds)
}

/// A label selector in the form of the query, `a=b,c in (d)`.
pub(crate) fn selector_text(selector: &Value) -> String {
    text::selector(selector)
}

/// One object on its way into a table.
#[derive(Clone, Copy)]
struct Row<'a> {
    object: &'a Value,
    now: Timestamp,
}

impl<'a> Row<'a> {
    fn metadata(self) -> &'a Value {
        self.object.at("metadata")
    }

    fn spec(self) -> &'a Value {
        self.object.at("spec")
    }

    fn status(self) -> &'a Value {
        self.object.at("status")
    }

    fn name(self) -> Value {
        self.metadata().text("name").into()
    }

    fn age(self) -> Value {
        self.since(self.metadata().at("creationTimestamp")).into()
    }

    /// How long ago a time was; `<unknown>` for none.
    fn since(self, time: &Value) -> String {
        match text::time(time) {
            Some(time) => text::duration(self.now.duration_since(time).as_secs()),
            None => "<unknown>".to_owned(),
        }
    }

    fn is_going(self) -> bool {
        self.metadata().has("deletionTimestamp")
    }
}
