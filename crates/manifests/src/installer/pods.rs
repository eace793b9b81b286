//! The Deployment of a program, which is as narrow as it can be.

use serde_json::{Value, json};

use super::Settled;

impl Settled<'_> {
    pub(super) fn deployment(&self) -> Value {
        let mut spec = json!({
            "replicas": self.replicas,
            "selector": {"matchLabels": self.labels()},
            "template": {
                "metadata": {"labels": self.labels()},
                "spec": self.pod(),
            },
        });
        if self.is_alone() {
            // The next one must not begin before the last one has ended.
            spec["strategy"] = json!({"type": "Recreate"});
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self.metadata(&self.parts.name),
            "spec": spec,
        })
    }

    fn pod(&self) -> Value {
        let mut pod = json!({
            "serviceAccountName": self.parts.name,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": NONROOT,
                "runAsGroup": NONROOT,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "terminationGracePeriodSeconds": self.grace() + TO_END,
            "containers": [self.container()],
        });
        if !self.needs_token() {
            pod["automountServiceAccountToken"] = json!(false);
        }
        if self.mounted_secret().is_some() {
            // Only the group may read the key in a mounted Secret.
            pod["securityContext"]["fsGroup"] = json!(NONROOT);
        }
        let volumes = self.volumes();
        if !volumes.is_empty() {
            let volumes = volumes.into_iter().map(|(volume, _)| volume);
            pod["volumes"] = volumes.collect();
        }
        if self.replicas > 1 {
            pod["topologySpreadConstraints"] = json!([{
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": self.labels()},
            }]);
        }
        pod
    }

    fn container(&self) -> Value {
        let port = if self.parts.secures_metrics {
            "probes"
        } else {
            "metrics"
        };
        let probe = |path: &str| json!({"httpGet": {"path": path, "port": port}});
        let mut ready = probe("/readyz");
        ready["periodSeconds"] = json!(5);
        let memory = self.install.memory.as_ref();
        let (request, limit) =
            memory.map_or(("32Mi", "128Mi"), |memory| (&memory.request, &memory.limit));
        let mut container = json!({
            "name": self.parts.name,
            "image": self.image,
            "args": self.arguments(),
            // So that mimalloc returns free memory at once, and not only while the program allocates.
            "env": [
                {"name": "MIMALLOC_PURGE_DELAY", "value": "0"},
                {"name": "MIMALLOC_PAGE_RECLAIM_ON_FREE", "value": "-1"},
            ],
            "ports": self.ports(),
            "readinessProbe": ready,
            "livenessProbe": probe("/livez"),
            "resources": {
                "requests": {"cpu": "10m", "memory": request},
                "limits": {"memory": limit},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            },
        });
        let volumes = self.volumes();
        if !volumes.is_empty() {
            let mounts = volumes.into_iter().map(|(volume, directory)| {
                json!({"name": volume["name"], "mountPath": directory, "readOnly": true})
            });
            container["volumeMounts"] = mounts.collect();
        }
        container
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["run".to_owned()];
        if self.mounted_secret().is_some() {
            arguments.push(format!("--certificates={CERTIFICATES}"));
        }
        if self.parts.secures_metrics {
            arguments.push(format!("--metrics-bind-address=0.0.0.0:{SECURED_METRICS}"));
            arguments.push(format!("--health-probe-bind-address=0.0.0.0:{PROBES}"));
        } else {
            arguments.push(format!("--metrics-bind-address=0.0.0.0:{METRICS}"));
        }
        arguments.push("--log-format=json".to_owned());
        if self.install.grace.is_some() {
            arguments.push(format!("--grace={}", self.grace()));
        }
        arguments.extend(self.install.arguments.iter().cloned());
        arguments
    }

    pub(super) fn ports(&self) -> Vec<Value> {
        let webhooks = json!({"name": "webhooks", "containerPort": WEBHOOKS});
        let mut ports = Vec::new();
        if self.parts.is_called() {
            ports.push(webhooks);
        }
        if self.parts.secures_metrics {
            ports.push(json!({"name": "metrics", "containerPort": SECURED_METRICS}));
            ports.push(json!({"name": "probes", "containerPort": PROBES}));
        } else {
            ports.push(json!({"name": "metrics", "containerPort": METRICS}));
        }
        ports
    }

    /// What is mounted, and where.
    fn volumes(&self) -> Vec<(Value, String)> {
        let certificates = self.mounted_secret().map(|secret| {
            let volume = json!({"name": "certificates", "secret": {"secretName": secret}});
            (volume, CERTIFICATES.to_owned())
        });
        let files = self.install.files.as_ref().map(|files| {
            let volume = json!({"name": "files", "configMap": {"name": self.parts.name}});
            (volume, files.directory.clone())
        });
        certificates.into_iter().chain(files).collect()
    }

    fn grace(&self) -> u64 {
        self.install.grace.map_or(30, |grace| grace.as_secs())
    }
}

/// The UID and GID of `nonroot` in distroless images, which owns no files.
const NONROOT: u32 = 65532;
/// The default port of a program's webhooks.
const WEBHOOKS: u16 = 9443;
const METRICS: u16 = 8080;
/// The ports of kubebuilder's programs.
pub(super) const SECURED_METRICS: u16 = 8443;
const PROBES: u16 = 8081;
const CERTIFICATES: &str = "/etc/certificates";
/// How much longer than its own grace a program may take before the kubelet kills it, in seconds: so long as a log needs to be
/// written and a process to end.
const TO_END: u64 = 5;
