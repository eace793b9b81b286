//! Decodes YAML as Kubernetes does.

use serde::de::DeserializeOwned;
use serde_saphyr::{Error as YamlError, Location, Options};

/// A decoded document.
#[derive(Debug)]
pub(crate) struct Document<T> {
    pub(crate) value: T,
    /// The paths of fields that the type does not know.
    pub(crate) unknown: Vec<String>,
}

/// Why a document cannot be decoded: the position and what was expected. It is logged, so it never quotes the document.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}{place}")]
pub(crate) struct Error {
    what: String,
    place: String,
}

/// Decodes one YAML (or JSON) document.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<Document<T>, Error> {
    let mut unknown = Vec::new();
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
        serde_ignored::deserialize(yaml, |path| unknown.push(path.to_string()))
    });
    Ok(Document {
        value: value.map_err(Error::from)?,
        unknown,
    })
}

impl From<YamlError> for Error {
    fn from(error: YamlError) -> Self {
        let error = match error {
            YamlError::WithSnippet { error, .. } => *error,
            error => error,
        };
        let place = |location: &Location| {
            format!(" at line {}, column {}", location.line(), location.column())
        };
        let (what, location) = match &error {
            YamlError::SerdeInvalidType {
                expected, location, ..
            }
            | YamlError::SerdeInvalidValue {
                expected, location, ..
            } => (
                format!("expected {expected}, found something else"),
                location,
            ),
            YamlError::SerdeUnknownVariant {
                expected, location, ..
            } => (format!("expected one of {}", expected.join(", ")), location),
            YamlError::NonFiniteFloat { location, .. } => {
                ("expected a finite number".to_owned(), location)
            }
            YamlError::QuotingRequired { location, .. } => {
                ("a text has to be quoted".to_owned(), location)
            }
            // It says where by itself.
            other => {
                return Self {
                    what: other.to_string(),
                    place: String::new(),
                };
            }
        };
        Self {
            place: place(location),
            what,
        }
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        // kubectl reads `defaultMode: 0644` as an octal number.
        legacy_octal_numbers: true,
        // Errors are logged, and the lines around one may contain secrets.
        with_snippet: false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Container, Volume};
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sidecars {
        containers: Vec<Container>,
        volumes: Vec<Volume>,
    }

    const SIDECARS: &str = "
containers:
- name: proxy
  image: nginx:1.12.2
  imagePullPolicy: IfNotPresent
  ports: [{containerPort: 80}]
  resources: {limits: {cpu: 1, memory: 64Mi}}
  livenessProbe: {httpGet: {path: /, port: 80}}
  readinessProbe: {httpGet: {path: /, port: http}}
  volumeMounts:
  - {name: conf, mountPath: /etc/nginx}
volumes:
- name: conf
  configMap: {name: nginx-configmap, defaultMode: 0644}
";

    #[test]
    fn camel_case_fields_of_kubernetes_types_are_kept() {
        let sidecars = decode::<Sidecars>(SIDECARS).unwrap();
        assert_eq!(sidecars.unknown, [""; 0]);
        let container = serde_json::to_value(&sidecars.value.containers[0]).unwrap();
        assert_eq!(
            container,
            serde_json::json!({
                "name": "proxy", "image": "nginx:1.12.2", "imagePullPolicy": "IfNotPresent",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1", "memory": "64Mi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 80}},
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
                "volumeMounts": [{"name": "conf", "mountPath": "/etc/nginx"}],
            })
        );
        let volume = serde_json::to_value(&sidecars.value.volumes[0]).unwrap();
        assert_eq!(
            volume,
            serde_json::json!({
                "name": "conf", "configMap": {"name": "nginx-configmap", "defaultMode": 0o644},
            })
        );
    }

    #[test]
    fn a_field_that_the_type_does_not_know_is_named() {
        let text = SIDECARS.replace("imagePullPolicy", "imagepullpolicy");
        let sidecars = decode::<Sidecars>(&text).unwrap();
        assert_eq!(sidecars.unknown, ["containers.0.imagepullpolicy"]);
    }

    #[test]
    fn json_is_yaml() {
        let sidecars = decode::<Sidecars>(r#"{"containers": [], "volumes": []}"#).unwrap();
        assert!(sidecars.value.containers.is_empty());
    }

    #[test]
    fn what_is_not_one_good_document_is_an_error() {
        for text in [
            "",
            "containers: [",
            "containers: []\nvolumes: []\nvolumes: []\n",
            "containers: []\n",
            "containers: []\nvolumes: []\n---\ncontainers: []\nvolumes: []\n",
            "containers: {name: x}\nvolumes: []\n",
        ] {
            assert!(decode::<Sidecars>(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_error_shows_none_of_the_lines_around_it() {
        for text in [
            "password: hunter2\ncontainers: [\n",
            "containers: hunter2\nvolumes: []\n",
            "containers: []\nvolumes: [{name: v, configMap: {defaultMode: hunter2}}]\n",
        ] {
            let error = decode::<Sidecars>(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
            assert!(error.contains("line"), "{error}");
        }
    }
}
