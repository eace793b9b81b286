//! Correct objects of many kinds, as people write them.

use serde_json::{Value, json};

/// Group, version, kind and object.
pub(super) type Sample = (&'static str, &'static str, &'static str, Value);

pub(super) fn config_map() -> Sample {
    let object = json!({ "metadata": { "name": "c" }, "data": { "a.b": "1" }, "binaryData": { "c": "AAAA" } });
    ("", "v1", "ConfigMap", object)
}

pub(super) fn pod() -> Sample {
    let object = json!({
        "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": {
            "serviceAccountName": "default",
            "nodeSelector": { "disk": "ssd" },
            "tolerations": [{ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }],
            "initContainers": [{ "name": "init", "image": "busybox:1" }],
            "containers": [{
                "name": "web",
                "image": "nginx:1.14.2",
                "ports": [{ "name": "http", "containerPort": 80 }],
                "env": [
                    { "name": "A", "value": "1" },
                    { "name": "IP", "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } },
                    { "name": "S", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
                ],
                "envFrom": [{ "configMapRef": { "name": "c" } }],
                "resources": { "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "500m" } },
                "volumeMounts": [{ "name": "v", "mountPath": "/v" }, { "name": "t", "mountPath": "/t", "readOnly": true }],
                "livenessProbe": { "httpGet": { "path": "/", "port": "http" } },
                "lifecycle": { "preStop": { "exec": { "command": ["true"] } } },
                "securityContext": { "runAsUser": 1000, "capabilities": { "drop": ["ALL"] }, "allowPrivilegeEscalation": false },
            }],
            "volumes": [
                { "name": "v", "emptyDir": {} },
                { "name": "t", "projected": { "sources": [
                    { "serviceAccountToken": { "path": "token", "expirationSeconds": 3607 } },
                    { "configMap": { "name": "c", "items": [{ "key": "k", "path": "p" }] } },
                ] } },
            ],
            "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
                { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "web" } } }] } },
            "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": { "matchLabels": { "app": "web" } } }],
        },
    });
    ("", "v1", "Pod", object)
}

fn template(policy: &str) -> Value {
    json!({ "metadata": { "labels": { "app": "web" } },
        "spec": { "restartPolicy": policy, "containers": [{ "name": "a", "image": "a:1" }] } })
}

pub(super) fn workload(kind: &'static str) -> Sample {
    let object = json!({ "metadata": { "name": "web" },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": template("Always") } });
    ("apps", "v1", kind, object)
}

pub(super) fn job() -> Sample {
    let object = json!({ "metadata": { "name": "j" }, "spec": { "template": template("Never") } });
    ("batch", "v1", "Job", object)
}

pub(super) fn cron_job() -> Sample {
    let object = json!({ "metadata": { "name": "c" },
        "spec": { "schedule": "*/5 * * * *", "jobTemplate": { "spec": { "template": template("Never") } } } });
    ("batch", "v1", "CronJob", object)
}

pub(super) fn service() -> Sample {
    let object = json!({ "metadata": { "name": "s" }, "spec": { "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"],
        "selector": { "app": "web" }, "ports": [{ "port": 80 }] } });
    ("", "v1", "Service", object)
}

pub(super) fn claim() -> Sample {
    let object = json!({ "metadata": { "name": "c" }, "spec": { "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": "1Gi" } } } });
    ("", "v1", "PersistentVolumeClaim", object)
}

pub(super) fn volume() -> Sample {
    let object = json!({ "metadata": { "name": "v" }, "spec": { "accessModes": ["ReadWriteOnce"],
        "capacity": { "storage": "1Gi" }, "hostPath": { "path": "/a" } } });
    ("", "v1", "PersistentVolume", object)
}

pub(super) fn secret() -> Sample {
    let object = json!({ "metadata": { "name": "s" }, "stringData": { "a": "b" } });
    ("", "v1", "Secret", object)
}

pub(super) fn webhooks(kind: &'static str) -> Sample {
    let object = json!({ "metadata": { "name": "w" }, "webhooks": [{
        "name": "a.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": { "service": { "name": "s", "namespace": "n", "path": "/mutate" } },
        "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] }],
        "sideEffects": "None",
    }] });
    ("admissionregistration.k8s.io", "v1", kind, object)
}

/// The rule is about resources that do not exist.
fn policy(kind: &'static str, spec: &Value) -> Sample {
    let mut object = json!({ "metadata": { "name": "p" }, "spec": spec });
    object["spec"]["matchConstraints"] = json!({ "resourceRules": [{
        "apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"] }] });
    ("admissionregistration.k8s.io", "v1", kind, object)
}

pub(super) fn validating_policy() -> Sample {
    let spec = json!({ "validations": [{ "expression": "object.spec.size < 5" }] });
    policy("ValidatingAdmissionPolicy", &spec)
}

pub(super) fn mutating_policy() -> Sample {
    let expression = "Object{spec: Object.spec{size: 5}}";
    let mutation = json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } });
    let spec = json!({ "reinvocationPolicy": "Never", "mutations": [mutation] });
    policy("MutatingAdmissionPolicy", &spec)
}

pub(super) fn policy_binding(kind: &'static str) -> Sample {
    let mut object = json!({ "metadata": { "name": "b" }, "spec": { "policyName": "p" } });
    if kind == "ValidatingAdmissionPolicyBinding" {
        object["spec"]["validationActions"] = json!(["Deny"]);
    }
    ("admissionregistration.k8s.io", "v1", kind, object)
}

pub(super) fn autoscaler(version: &'static str) -> Sample {
    let object = json!({ "metadata": { "name": "h" }, "spec": { "maxReplicas": 3,
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" } } });
    ("autoscaling", version, "HorizontalPodAutoscaler", object)
}

pub(super) fn ingress() -> Sample {
    let object = json!({ "metadata": { "name": "i" }, "spec": { "rules": [{ "host": "a.example.com", "http": { "paths": [
        { "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "s", "port": { "number": 80 } } } }] } }] } });
    ("networking.k8s.io", "v1", "Ingress", object)
}

pub(super) fn network_policy() -> Sample {
    let object = json!({ "metadata": { "name": "n" }, "spec": { "podSelector": {}, "ingress": [{
        "from": [{ "ipBlock": { "cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"] } }], "ports": [{ "port": 80 }] }] } });
    ("networking.k8s.io", "v1", "NetworkPolicy", object)
}

pub(super) fn role_binding() -> Sample {
    let object = json!({ "metadata": { "name": "r" }, "roleRef": { "kind": "Role", "name": "x" },
        "subjects": [{ "kind": "User", "name": "u" }, { "kind": "ServiceAccount", "name": "sa", "namespace": "n" }] });
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", object)
}

pub(super) fn role() -> Sample {
    let object = json!({ "metadata": { "name": "r" }, "rules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }] });
    ("rbac.authorization.k8s.io", "v1", "Role", object)
}

pub(super) fn all() -> Vec<Sample> {
    vec![
        config_map(),
        pod(),
        workload("Deployment"),
        workload("ReplicaSet"),
        workload("StatefulSet"),
        workload("DaemonSet"),
        job(),
        cron_job(),
        service(),
        claim(),
        volume(),
        secret(),
        webhooks("MutatingWebhookConfiguration"),
        webhooks("ValidatingWebhookConfiguration"),
        validating_policy(),
        mutating_policy(),
        policy_binding("ValidatingAdmissionPolicyBinding"),
        policy_binding("MutatingAdmissionPolicyBinding"),
        autoscaler("v1"),
        autoscaler("v2"),
        ingress(),
        network_policy(),
        role_binding(),
        role(),
        (
            "",
            "v1",
            "Namespace",
            json!({ "metadata": { "name": "n" } }),
        ),
        (
            "",
            "v1",
            "ServiceAccount",
            json!({ "metadata": { "name": "n" } }),
        ),
        (
            "",
            "v1",
            "Node",
            json!({ "metadata": { "name": "n" }, "spec": { "podCIDR": "10.1.0.0/24" } }),
        ),
        (
            "",
            "v1",
            "ReplicationController",
            json!({ "metadata": { "name": "n" }, "spec": { "template": template("Always") } }),
        ),
        (
            "",
            "v1",
            "ResourceQuota",
            json!({ "metadata": { "name": "q" }, "spec": { "hard": { "pods": "4", "requests.cpu": "1" } } }),
        ),
        (
            "",
            "v1",
            "LimitRange",
            json!({ "metadata": { "name": "l" }, "spec": { "limits": [
            { "type": "Container", "max": { "cpu": "2" }, "min": { "cpu": "100m" } }] } }),
        ),
        (
            "",
            "v1",
            "Event",
            json!({ "metadata": { "name": "e" }, "involvedObject": { "kind": "Pod", "namespace": "default" } }),
        ),
        (
            "coordination.k8s.io",
            "v1",
            "Lease",
            json!({ "metadata": { "name": "l" }, "spec": { "leaseDurationSeconds": 15 } }),
        ),
        (
            "scheduling.k8s.io",
            "v1",
            "PriorityClass",
            json!({ "metadata": { "name": "p" }, "value": 10 }),
        ),
        (
            "storage.k8s.io",
            "v1",
            "StorageClass",
            json!({ "metadata": { "name": "s" }, "provisioner": "topolvm.cybozu.com" }),
        ),
        (
            "policy",
            "v1",
            "PodDisruptionBudget",
            json!({ "metadata": { "name": "p" }, "spec": { "minAvailable": "50%",
            "selector": { "matchLabels": { "app": "web" } } } }),
        ),
    ]
}
