//! The reviews that are sent: the sizes and shapes of real ones, made anew and always the same.

use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Case {
    /// No webhook, only the server's limits, deadlines and accounts around a constant answer.
    Server,
    /// A mutator that reads only the metadata of a pod.
    Metadata,
    /// A mutator of the whole pod.
    Typed,
    /// A validator of the whole pod.
    Validate,
    /// A mutator of a large `ConfigMap`.
    ConfigMap,
    /// The creation of a pod on the API server: defaults, validation and one webhook.
    Create,
}

impl Case {
    /// The cases that are webhooks.
    pub(crate) const WEBHOOKS: [Self; 5] = [
        Self::Server,
        Self::Metadata,
        Self::Typed,
        Self::Validate,
        Self::ConfigMap,
    ];

    /// What the case may cost, as a multiple of a constant answer.
    pub(crate) fn bar(self) -> f64 {
        match self {
            Self::Server => 1.1,
            Self::Metadata => 1.3,
            Self::Typed => 5.0,
            Self::Validate => 4.0,
            Self::ConfigMap => 1.9,
            Self::Create => 16.0,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Metadata => "metadata",
            Self::Typed => "typed",
            Self::Validate => "validate",
            Self::ConfigMap => "configmap",
            Self::Create => "create",
        }
    }

    pub(crate) fn path(self) -> String {
        match self {
            Self::Create => "/api/v1/namespaces/default/pods".to_owned(),
            _ => format!("/{}", self.name()),
        }
    }

    /// How many requests make one run: enough for the accounts of the scheduler to be exact.
    pub(crate) fn requests(self) -> usize {
        match self {
            Self::ConfigMap => 800,
            Self::Create => 2_000,
            _ => 10_000,
        }
    }

    /// What a right answer contains.
    pub(crate) fn proof(self) -> &'static str {
        match self {
            Self::Server | Self::Validate => r#""allowed":true"#,
            Self::Create => r#""team":"blue""#,
            _ => r#""patch":"#,
        }
    }

    pub(crate) fn status(self) -> u16 {
        if self == Self::Create { 201 } else { 200 }
    }

    /// What is sent.
    pub(crate) fn body(self) -> Body {
        let document = match self {
            Self::ConfigMap => review("ConfigMap", "configmaps", &config_map()),
            Self::Create => new_pod(),
            _ => review("Pod", "pods", &pod()),
        };
        let text = document.to_string();
        match text.split_once(NUMBER) {
            Some((before, after)) => Body::Numbered(before.to_owned(), after.to_owned()),
            None => Body::Same(Bytes::from(text)),
        }
    }
}

/// Stands where each request of a run has its own number.
const NUMBER: &str = "00000000";

/// The body of a request: always the same, or with the request's number in it.
#[derive(Clone)]
pub(crate) enum Body {
    Same(Bytes),
    Numbered(String, String),
}

impl Body {
    pub(crate) fn of(&self, number: usize) -> Bytes {
        match self {
            Self::Same(bytes) => bytes.clone(),
            Self::Numbered(before, after) => Bytes::from(format!("{before}{number:08}{after}")),
        }
    }

    pub(crate) fn length(&self) -> usize {
        self.of(0).len()
    }
}

fn review(kind: &str, resource: &str, object: &Value) -> Value {
    let kind = json!({"group": "", "version": "v1", "kind": kind});
    let resource = json!({"group": "", "version": "v1", "resource": resource});
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": object["metadata"]["name"],
            "namespace": "blue",
            "operation": "CREATE",
            "userInfo": {
                "username": "system:serviceaccount:kube-system:replicaset-controller",
                "uid": "6b0b7a0c-5d4f-4a0c-9a77-3c1f3f2f5b11",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]
            },
            "object": object,
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
        }
    })
}

/// A review of a pod with so many annotations.
pub(crate) fn annotated_pod(annotations: usize) -> Bytes {
    let mut pod = pod();
    pod["metadata"]["annotations"] = (0..annotations)
        .map(|number| (format!("{number:x}"), Value::from("")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    review("Pod", "pods", &pod).to_string().into()
}

/// A pod of a deployment with a sidecar, probes, volumes and a manager's fields: a review of 8.4 KB.
fn pod() -> Value {
    let labels = json!({
        "app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": "checkout-blue",
        "app.kubernetes.io/version": "4.17.2", "app.kubernetes.io/part-of": "shop",
        "pod-template-hash": "7c9d8f6b5d"
    });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "checkout-7c9d8f6b5d-x2x8l",
            "generateName": "checkout-7c9d8f6b5d-",
            "namespace": "blue",
            "creationTimestamp": "2026-11-20T10:00:00Z",
            "uid": "c2d4c6a1-0f2b-4c29-8f6e-1d7d0c5e9b77",
            "labels": labels,
            "annotations": {
                "prometheus.io/scrape": "true", "prometheus.io/port": "9102",
                "kubectl.kubernetes.io/restartedAt": "2026-11-19T22:14:03Z",
                "checksum/config": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"
            },
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7c9d8f6b5d",
                "uid": "0d1b8f6e-3f2c-4a55-9a0b-7e6d5c4b3a29", "controller": true, "blockOwnerDeletion": true
            }],
            "managedFields": [{
                "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
                "time": "2026-11-20T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": managed_fields()
            }]
        },
        "spec": {
            "volumes": [
                {"name": "config", "configMap": {"name": "checkout", "defaultMode": 420}},
                {"name": "tls", "secret": {"secretName": "checkout-tls", "defaultMode": 288}},
                {"name": "scratch", "emptyDir": {"sizeLimit": "256Mi"}},
                {"name": "kube-api-access-9k2mz", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}
                ]}}
            ],
            "initContainers": [init_container("migrate", 3)],
            "containers": [container("checkout", 10), container("proxy", 6)],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "checkout",
            "serviceAccount": "checkout",
            "securityContext": {"runAsNonRoot": true, "fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            ],
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "checkout"}}
            }],
            "priority": 0,
            "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority"
        },
        "status": {}
    })
}

/// The same pod as its creator sends it: 7 KB.
fn new_pod() -> Value {
    let mut pod = pod();
    pod["metadata"] = json!({
        "name": format!("checkout-{NUMBER}"), "namespace": "default",
        "labels": pod["metadata"]["labels"], "annotations": pod["metadata"]["annotations"],
    });
    pod["spec"]["containers"] = json!([container("checkout", 16), container("proxy", 9)]);
    if let Some(fields) = pod["spec"].as_object_mut() {
        fields.retain(|field, _| !field.starts_with("serviceAccount") && field != "priority");
    }
    // The token of a service account that this cluster does not have.
    if let Some(sources) = pod["spec"]["volumes"][3]["projected"]["sources"].as_array_mut() {
        sources.remove(0);
    }
    if let Some(fields) = pod.as_object_mut() {
        fields.remove("status");
    }
    pod
}

/// A container that ends has no probes.
fn init_container(name: &str, variables: usize) -> Value {
    let mut container = container(name, variables);
    if let Some(fields) = container.as_object_mut() {
        fields.retain(|field, _| !field.ends_with("Probe"));
    }
    container
}

fn container(name: &str, variables: usize) -> Value {
    let digest = "9f2c4b1d8e7a6053c1b2a3948576fedcba98765432100123456789abcdef0123";
    let env: Vec<Value> = (0..variables)
        .map(|number| json!({"name": format!("{}_SETTING_{number}", name.to_uppercase()), "value": format!("value-{number}.{name}.shop.svc.cluster.local:8443")}))
        .collect();
    let probe = |path: &str| {
        json!({
            "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"},
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3
        })
    };
    json!({
        "name": name,
        "image": format!("registry.shop.example.com/{name}:4.17.2@sha256:{digest}"),
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": env,
        "resources": {"limits": {"cpu": "1", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/checkout", "readOnly": true},
            {"name": "scratch", "mountPath": "/tmp"},
            {"name": "kube-api-access-9k2mz", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        ],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}
    })
}

fn managed_fields() -> Value {
    let names = |names: &[&str]| -> Value {
        names
            .iter()
            .map(|name| (format!("f:{name}"), json!({})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let container = names(&[
        "name",
        "image",
        "imagePullPolicy",
        "resources",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "securityContext",
        "livenessProbe",
        "readinessProbe",
    ]);
    json!({
        "f:metadata": {"f:generateName": {}, "f:annotations": names(&["prometheus.io/scrape", "checksum/config"]), "f:labels": names(&["pod-template-hash", "app.kubernetes.io/name"])},
        "f:spec": {
            "f:containers": {"k:{\"name\":\"checkout\"}": container, "k:{\"name\":\"proxy\"}": container},
            "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {}
        }
    })
}

/// Four dashboards in one `ConfigMap`: 281 KB of JSON documents, full of quotes and line ends.
fn config_map() -> Value {
    let mut data = serde_json::Map::new();
    for number in 0..4 {
        let mut text = String::new();
        let mut line = 0;
        while text.len() < 60_750 {
            let _ = writeln!(
                text,
                "  \"panel-{line}\": {{ \"title\": \"Requests of service {line}\", \"type\": \"graph\", \"datasource\": \"prometheus\" }},"
            );
            line += 1;
        }
        data.insert(format!("dashboard-{number}.json"), text.into());
    }
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "dashboards", "namespace": "blue", "labels": {"app": "grafana"}},
        "data": data
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reviews_have_the_sizes_that_the_goals_are_for() {
        for (case, size) in [
            (Case::Typed, 8_400),
            (Case::ConfigMap, 281_000),
            (Case::Create, 7_000),
        ] {
            let length = case.body().length();
            assert!(
                length.abs_diff(size) < size / 50,
                "{}: {length} bytes",
                case.name()
            );
        }
    }
}
