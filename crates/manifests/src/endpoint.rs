//! Where the API server reaches a program.

use std::fmt;

use http::Uri;
use serde_json::{Map, Value, json};

use crate::names;

/// Where the API server reaches a program's webhooks: at a URL or through a Service.
///
/// # Example: both forms
///
/// ```
/// use kubewright_manifests::Endpoint;
///
/// let local = Endpoint::url("https://127.0.0.1:8080")?;
/// let in_cluster = Endpoint::service("policy-system/policy:8443")?;
/// assert_eq!(in_cluster.namespace(), Some("policy-system"));
/// assert_eq!(local.namespace(), None);
/// # Ok::<(), kubewright_manifests::EndpointError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(Reach);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Reach {
    Url(String),
    Service {
        namespace: String,
        name: String,
        port: u16,
    },
}

/// The reason why the API server would not call an endpoint.
///
/// ```
/// use kubewright_manifests::Endpoint;
///
/// let error = Endpoint::url("http://policy.example.com").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`http://policy.example.com` is not a webhook's URL: it must start with https://",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The text is not a URL that a webhook configuration may hold.
    #[error("`{url}` is not a webhook's URL: {problem}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The text does not name a Service.
    #[error("`{text}` does not name a Service: {problem}")]
    Service {
        /// What was given.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Endpoint {
    /// Reaches the program at an `https` URL, to which each webhook's path is added.
    ///
    /// ```
    /// use kubewright_manifests::Endpoint;
    ///
    /// assert_eq!(Endpoint::url("https://policy.example.com/")?.to_string(), "https://policy.example.com");
    /// assert!(Endpoint::url("https://policy.example.com?tenant=blue").is_err());
    /// # Ok::<(), kubewright_manifests::EndpointError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the API server would reject the URL: it has no `https` scheme or no host, or it has a
    /// user, a query or a fragment.
    pub fn url(url: &str) -> Result<Self, EndpointError> {
        let refused = |problem| EndpointError::Url {
            url: url.to_owned(),
            problem,
        };
        if url.contains('#') {
            return Err(refused("a fragment is not allowed"));
        }
        let parsed: Uri = url.parse().map_err(|_| refused("it is not a URL"))?;
        if parsed.scheme_str() != Some("https") {
            return Err(refused("it must start with https://"));
        }
        let authority = parsed
            .authority()
            .ok_or_else(|| refused("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("a user is not allowed"));
        }
        if authority.host().is_empty() {
            return Err(refused("it has no host"));
        }
        if authority.as_str().len() > authority.host().len() && authority.port_u16().is_none() {
            return Err(refused("its port is not a number from 1 to 65535"));
        }
        if parsed.query().is_some() {
            return Err(refused("a query is not allowed"));
        }
        Ok(Self(Reach::Url(url.trim_end_matches('/').to_owned())))
    }

    /// Reaches the program through a Service, written `namespace/name` or `namespace/name:port`;
    /// the default port is 443.
    ///
    /// ```
    /// use kubewright_manifests::Endpoint;
    ///
    /// assert_eq!(Endpoint::service("policy-system/policy")?.to_string(), "service policy-system/policy:443");
    /// assert!(Endpoint::service("policy").is_err(), "the namespace is missing");
    /// # Ok::<(), kubewright_manifests::EndpointError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the text has another form, or a name or the port is not one that Kubernetes accepts.
    pub fn service(text: &str) -> Result<Self, EndpointError> {
        let refused = |problem| EndpointError::Service {
            text: text.to_owned(),
            problem,
        };
        let (namespace, rest) = text
            .split_once('/')
            .ok_or_else(|| refused("it must be `namespace/name[:port]`"))?;
        let (name, port) = match rest.split_once(':') {
            None => (rest, 443),
            Some((name, port)) => match port.parse() {
                Ok(port) if port > 0 => (name, port),
                _ => return Err(refused("the port must be a number from 1 to 65535")),
            },
        };
        if !names::is_label(namespace) {
            return Err(refused(
                "the namespace is not a name that Kubernetes accepts",
            ));
        }
        if !names::is_label(name) {
            return Err(refused("the name is not one that Kubernetes accepts"));
        }
        Ok(Self(Reach::Service {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        }))
    }

    /// Returns the namespace of the Service, which is the program's own, or `None` for a URL.
    ///
    /// ```
    /// use kubewright_manifests::Endpoint;
    ///
    /// assert_eq!(Endpoint::service("policy-system/policy:8443")?.namespace(), Some("policy-system"));
    /// assert_eq!(Endpoint::url("https://127.0.0.1:8080")?.namespace(), None);
    /// # Ok::<(), kubewright_manifests::EndpointError>(())
    /// ```
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match &self.0 {
            Reach::Url(_) => None,
            Reach::Service { namespace, .. } => Some(namespace),
        }
    }

    /// The host by which the API server knows the program, with the port where it is not left out.
    pub(crate) fn host(&self) -> String {
        match &self.0 {
            Reach::Url(url) => {
                let rest = url.trim_start_matches("https://");
                rest.split('/').next().unwrap_or(rest).to_owned()
            }
            Reach::Service {
                namespace,
                name,
                port: 443,
            } => format!("{name}.{namespace}.svc"),
            Reach::Service {
                namespace,
                name,
                port,
            } => format!("{name}.{namespace}.svc:{port}"),
        }
    }

    /// The `clientConfig` of a webhook that is served under `path`.
    pub(crate) fn client_config(&self, path: &str, ca_bundle: Option<&str>) -> Value {
        let mut config = Map::new();
        match &self.0 {
            Reach::Url(base) => {
                config.insert("url".to_owned(), json!(format!("{base}{path}")));
            }
            Reach::Service {
                namespace,
                name,
                port,
            } => {
                let service =
                    json!({"namespace": namespace, "name": name, "path": path, "port": port});
                config.insert("service".to_owned(), service);
            }
        }
        if let Some(bundle) = ca_bundle {
            config.insert("caBundle".to_owned(), json!(bundle));
        }
        Value::Object(config)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reach::Url(url) => formatter.write_str(url),
            Reach::Service {
                namespace,
                name,
                port,
            } => {
                write!(formatter, "service {namespace}/{name}:{port}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gets_the_path_of_each_webhook() {
        for base in ["https://127.0.0.1:8080", "https://127.0.0.1:8080/"] {
            let config = Endpoint::url(base).unwrap().client_config("/mutate", None);
            assert_eq!(config, json!({"url": "https://127.0.0.1:8080/mutate"}));
        }
        let config = Endpoint::url("https://[::1]/hooks")
            .unwrap()
            .client_config("/a", Some("Q0E="));
        assert_eq!(
            config,
            json!({"url": "https://[::1]/hooks/a", "caBundle": "Q0E="})
        );
    }

    #[test]
    fn a_url_that_the_api_server_refuses_is_refused() {
        for (url, problem) in [
            ("http://a.example.com", "must start with https://"),
            ("a.example.com", "must start with https://"),
            ("https:///path", "not a URL"),
            ("https://", "not a URL"),
            ("https://:443", "no host"),
            ("https://user:word@a.example.com", "a user is not allowed"),
            ("https://a.example.com?x=1", "a query is not allowed"),
            ("https://a.example.com/#x", "a fragment is not allowed"),
            ("https://a.example.com:99999", "its port"),
            ("not a url", "not a URL"),
        ] {
            let error = Endpoint::url(url).unwrap_err().to_string();
            assert!(error.contains(problem), "{url}: {error}");
        }
    }

    #[test]
    fn a_service_is_read_with_and_without_a_port() {
        let config = Endpoint::service("blue/hooks")
            .unwrap()
            .client_config("/a", None);
        let service = json!({"namespace": "blue", "name": "hooks", "path": "/a", "port": 443});
        assert_eq!(config, json!({ "service": service }));
        assert_eq!(
            Endpoint::service("blue/hooks:8443").unwrap().to_string(),
            "service blue/hooks:8443"
        );
    }

    #[test]
    fn a_service_that_cannot_exist_is_refused() {
        for (text, problem) in [
            ("hooks", "`namespace/name[:port]`"),
            ("blue/hooks:0", "the port"),
            ("blue/hooks:65536", "the port"),
            ("blue/hooks:http", "the port"),
            ("/hooks", "the namespace"),
            ("Blue/hooks", "the namespace"),
            ("blue/", "the name "),
            ("blue/hooks.example", "the name "),
        ] {
            let error = Endpoint::service(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
