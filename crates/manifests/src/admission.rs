//! What an API server is given, so that it shows webhooks who it is.

use serde_json::{Value, json};

use crate::{Endpoint, Manifests};

/// The files by which an API server shows a client certificate to admission webhooks, as Kubernetes has it ("Authenticate API
/// servers"): the one that `--admission-control-config-file` names, and the kubeconfig that this one names.
///
/// An API server shows it to admission webhooks alone: conversions come without a certificate.
///
/// # Example
///
/// ```
/// use kubewright_manifests::{ApiServerAccess, Endpoint};
///
/// let access = ApiServerAccess::new(
///     [Endpoint::service("policy-system/policy")?],
///     "/etc/kubernetes/admission/client.crt",
///     "/etc/kubernetes/admission/client.key",
/// );
/// assert!(access.kubeconfig().to_yaml().contains("name: policy.policy-system.svc\n"));
/// let configuration = ApiServerAccess::configuration("/etc/kubernetes/admission/kubeconfig");
/// assert!(configuration.to_yaml().contains("kubeConfigFile: /etc/kubernetes/admission/kubeconfig\n"));
/// # Ok::<(), kubewright_manifests::EndpointError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ApiServerAccess {
    endpoints: Vec<Endpoint>,
    certificate: String,
    key: String,
}

impl ApiServerAccess {
    /// Shows the certificate in this file, with the key in that one, to the webhooks at these endpoints. The files are those
    /// of the API server's own machine; relative paths begin where the kubeconfig is.
    pub fn new(
        endpoints: impl IntoIterator<Item = Endpoint>,
        certificate: impl Into<String>,
        key: impl Into<String>,
    ) -> Self {
        Self {
            endpoints: endpoints.into_iter().collect(),
            certificate: certificate.into(),
            key: key.into(),
        }
    }

    /// Returns the kubeconfig. Its users have the hosts of the webhooks as names, by which API servers look them up.
    ///
    /// ```
    /// use kubewright_manifests::{ApiServerAccess, Endpoint};
    ///
    /// let endpoint = Endpoint::service("policy-system/policy:8443")?;
    /// let kubeconfig = ApiServerAccess::new([endpoint], "client.crt", "client.key").kubeconfig();
    /// let user = &kubeconfig.objects()[0]["users"][0];
    /// assert_eq!(user["name"], "policy.policy-system.svc:8443");
    /// assert_eq!(user["user"]["client-certificate"], "client.crt");
    /// # Ok::<(), kubewright_manifests::EndpointError>(())
    /// ```
    #[must_use]
    pub fn kubeconfig(&self) -> Manifests {
        let users: Vec<Value> = self
            .endpoints
            .iter()
            .map(|endpoint| {
                json!({
                    "name": endpoint.host(),
                    "user": {"client-certificate": self.certificate, "client-key": self.key},
                })
            })
            .collect();
        Manifests::new(vec![
            json!({"apiVersion": "v1", "kind": "Config", "users": users}),
        ])
    }

    /// Returns the admission configuration for mutating and validating webhooks, with the path of the kubeconfig on the API
    /// server's machine.
    ///
    /// ```
    /// use kubewright_manifests::ApiServerAccess;
    ///
    /// let configuration = ApiServerAccess::configuration("/etc/kubernetes/kubeconfig");
    /// let plugins = &configuration.objects()[0]["plugins"];
    /// assert_eq!(plugins[0]["name"], "ValidatingAdmissionWebhook");
    /// assert_eq!(plugins[1]["configuration"]["kubeConfigFile"], "/etc/kubernetes/kubeconfig");
    /// ```
    #[must_use]
    pub fn configuration(kubeconfig: &str) -> Manifests {
        let plugin = |name: &str| {
            json!({
                "name": name,
                "configuration": {
                    "apiVersion": "apiserver.config.k8s.io/v1",
                    "kind": "WebhookAdmissionConfiguration",
                    "kubeConfigFile": kubeconfig,
                },
            })
        };
        Manifests::new(vec![json!({
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AdmissionConfiguration",
            "plugins": [plugin("ValidatingAdmissionWebhook"), plugin("MutatingAdmissionWebhook")],
        })])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_called_as_an_api_server_looks_them_up() {
        let endpoints = [
            Endpoint::service("blue/hooks"),
            Endpoint::service("blue/hooks:443"),
            Endpoint::service("blue/hooks:8443"),
            Endpoint::url("https://a.example.com/hooks"),
            Endpoint::url("https://a.example.com:443"),
            Endpoint::url("https://[::1]:8443/"),
        ];
        let endpoints = endpoints.map(Result::unwrap);
        let kubeconfig = ApiServerAccess::new(endpoints, "client.crt", "client.key").kubeconfig();
        let users = kubeconfig.objects()[0]["users"].as_array().unwrap();
        let names: Vec<&str> = users
            .iter()
            .map(|user| user["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "hooks.blue.svc",
                "hooks.blue.svc",
                "hooks.blue.svc:8443",
                "a.example.com",
                "a.example.com:443",
                "[::1]:8443",
            ]
        );
    }

    #[test]
    fn the_files_are_those_of_the_documentation_of_kubernetes() {
        let endpoint = Endpoint::service("blue/hooks").unwrap();
        let access = ApiServerAccess::new([endpoint], "/pki/client.crt", "/pki/client.key");
        assert_eq!(
            access.kubeconfig().to_yaml(),
            "\
apiVersion: v1
kind: Config
users:
- name: hooks.blue.svc
  user:
    client-certificate: /pki/client.crt
    client-key: /pki/client.key
"
        );
        assert_eq!(
            ApiServerAccess::configuration("/pki/kubeconfig").to_yaml(),
            "\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: /pki/kubeconfig
  name: ValidatingAdmissionWebhook
- configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: /pki/kubeconfig
  name: MutatingAdmissionWebhook
"
        );
    }
}
