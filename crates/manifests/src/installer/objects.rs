//! The objects around the pods of a program.

use serde_json::{Value, json};

use super::pods::SECURED_METRICS;
use super::{NAME, Settled, roles};
use crate::install::{Extra, Mounted};
use crate::monitoring;

impl Settled<'_> {
    /// Everything but definitions and webhook configurations, in the order in which it should be applied.
    pub(super) fn program(&self, crds: &[Value]) -> Vec<Value> {
        let mut objects = Vec::new();
        if !self.install.finds_namespace {
            objects.push(self.namespace_object());
        }
        objects.push(self.service_account());
        objects.extend(self.permissions());
        objects.extend(roles::for_people(
            crds,
            self.install.has(Extra::AggregatedRoles),
        ));
        objects.extend(self.readers());
        objects.extend(self.config_maps());
        if self.parts.is_called() || self.parts.secures_metrics {
            objects.push(self.service());
        }
        objects.extend(self.cert_manager());
        objects.push(self.deployment());
        if self.replicas > 1 {
            objects.push(self.disruption_budget());
        }
        if self.install.has(Extra::NetworkPolicy) {
            objects.push(self.network_policy());
        }
        if self.install.has(Extra::Monitor) {
            objects.push(if self.parts.secures_metrics {
                self.service_monitor()
            } else {
                self.pod_monitor()
            });
        }
        if self.install.has(Extra::AlertRules) {
            objects.push(monitoring::rules(self.parts, &self.namespace));
        }
        objects
    }

    fn namespace_object(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": self.namespace,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        })
    }

    fn service_account(&self) -> Value {
        let mut account = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": self.metadata(&self.parts.name),
        });
        if !self.needs_token() {
            account["automountServiceAccountToken"] = json!(false);
        }
        account
    }

    /// The roles of the program and their bindings. What is granted in its own namespace says which one that is, so that the
    /// objects can be applied from anywhere.
    fn permissions(&self) -> Vec<Value> {
        let name = &self.parts.name;
        let permissions = &self.parts.permissions;
        let bindings = permissions.bindings(name, &self.namespace, name);
        let objects = permissions.manifests(name).into_iter().chain(bindings);
        let with_namespace = objects.map(|mut object| {
            let in_namespace = matches!(object["kind"].as_str(), Some("Role" | "RoleBinding"));
            if in_namespace && object["metadata"]["namespace"].is_null() {
                object["metadata"]["namespace"] = json!(self.namespace);
            }
            object
        });
        with_namespace.collect()
    }

    fn config_maps(&self) -> Vec<Value> {
        let map = |name: &str, data: Value| {
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": self.metadata(name),
                "data": data,
            })
        };
        let levels = self.parts.log_levels.as_ref().map(|name| {
            let key = format!("loglevel.{}", self.parts.name);
            map(name, json!({key: "info"}))
        });
        let files = self.install.files.as_ref().map(|mounted| {
            let files = mounted.files.iter();
            let data = files.map(|(name, text)| (name.clone(), json!(text)));
            map(&self.parts.name, Value::Object(data.collect()))
        });
        levels.into_iter().chain(files).collect()
    }

    /// The roles of those who may read the metrics, to be bound to the ServiceAccount of Prometheus, and of those who may look inside.
    fn readers(&self) -> Vec<Value> {
        if !self.parts.secures_metrics {
            return Vec::new();
        }
        let reader = |role: &str, path: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": format!("{}-{role}", self.parts.name)},
                "rules": [{"nonResourceURLs": [path], "verbs": ["get"]}],
            })
        };
        vec![
            reader("metrics-reader", "/metrics"),
            reader("inspector", "/debug/program"),
        ]
    }

    fn service(&self) -> Value {
        let mut ports = Vec::new();
        if self.parts.is_called() {
            ports.push(json!({"name": "webhooks", "port": self.port, "targetPort": "webhooks"}));
        }
        if self.parts.secures_metrics {
            let port = SECURED_METRICS;
            ports.push(json!({"name": "metrics", "port": port, "targetPort": "metrics"}));
        }
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": self.metadata(&self.service),
            "spec": {
                "selector": self.labels(),
                "ports": ports,
            },
        })
    }

    /// The certificate that cert-manager is asked for, and its issuer unless there is one.
    fn cert_manager(&self) -> Vec<Value> {
        let (Some(secret), Some(Mounted::CertManager(issuer))) =
            (self.mounted_secret(), &self.install.certificates)
        else {
            return Vec::new();
        };
        let name = &self.parts.name;
        let (kind, issued_by) = match issuer {
            Some(issuer) => (issuer.kind, &issuer.name),
            None => ("Issuer", name),
        };
        let own = issuer.is_none().then(|| {
            json!({
                "apiVersion": "cert-manager.io/v1",
                "kind": "Issuer",
                "metadata": self.metadata(name),
                "spec": {"selfSigned": {}},
            })
        });
        let host = format!("{}.{}.svc", self.service, self.namespace);
        let certificate = json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": self.metadata(name),
            "spec": {
                "secretName": secret,
                // Some refuse an issuer without a name, which a certificate that signs itself would have.
                "commonName": name,
                "dnsNames": [host, format!("{host}.cluster.local")],
                "issuerRef": {"group": "cert-manager.io", "kind": kind, "name": issued_by},
                "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
                "usages": ["digital signature", "server auth"],
            },
        });
        own.into_iter().chain([certificate]).collect()
    }

    /// Lets nodes be emptied, one replica after the other, and always of one that does not work anyway.
    fn disruption_budget(&self) -> Value {
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": self.metadata(&self.parts.name),
            "spec": {
                "maxUnavailable": 1,
                "selector": {"matchLabels": self.labels()},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        })
    }

    fn network_policy(&self) -> Value {
        let ports = self.ports();
        // Probes need no rule: the node of a pod is let in whatever policies say.
        let ports = ports.iter().filter(|port| port["name"] != "probes");
        let ingress: Vec<Value> = ports.map(ingress).collect();
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": self.metadata(&self.parts.name),
            "spec": {
                "podSelector": {"matchLabels": self.labels()},
                "policyTypes": ["Ingress"],
                "ingress": ingress,
            },
        })
    }

    fn pod_monitor(&self) -> Value {
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": self.metadata(&self.parts.name),
            "spec": {
                "selector": {"matchLabels": self.labels()},
                "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
            },
        })
    }

    /// How Prometheus reads the metrics with the token of its ServiceAccount, which it may send to this program only: so it checks
    /// the certificate, if there is one that it can check.
    fn service_monitor(&self) -> Value {
        let secret = self.certificate_secret();
        let tls = match secret.filter(|_| self.parts.is_called()) {
            Some(secret) => json!({
                "ca": {"secret": {"name": secret, "key": "ca.crt"}},
                "serverName": format!("{}.{}.svc", self.service, self.namespace),
            }),
            None => json!({"insecureSkipVerify": true}),
        };
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": self.metadata(&self.parts.name),
            "spec": {
                "selector": {"matchLabels": self.labels()},
                "endpoints": [{
                    "port": "metrics",
                    "path": "/metrics",
                    "scheme": "https",
                    "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                    "tlsConfig": tls,
                }],
            },
        })
    }

    pub(super) fn metadata(&self, name: &str) -> Value {
        json!({"name": name, "namespace": self.namespace})
    }

    /// The labels by which the pods are found.
    pub(super) fn labels(&self) -> Value {
        json!({NAME: self.parts.name})
    }

    /// Whether the program asks an API server for anything.
    pub(super) fn needs_token(&self) -> bool {
        !self.parts.permissions.is_empty()
    }
}

/// Who may connect to a port. The kubelet's probes come from the node of the pod, which no policy keeps out.
fn ingress(port: &Value) -> Value {
    let ports = json!([{"port": port["containerPort"], "protocol": "TCP"}]);
    if port["name"] == "metrics" {
        let scrapers = json!({"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}});
        return json!({"from": [scrapers], "ports": ports});
    }
    json!({"ports": ports})
}
