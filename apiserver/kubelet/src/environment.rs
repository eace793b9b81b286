//! The environment of a container.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::go_text::quoted;
use serde_json::{Map, Value};

use crate::arguments::expanded;
use crate::fields::field;
use crate::objects::Objects;

/// The variables of a container in their order, or why it cannot be started.
pub(crate) fn environment(
    objects: &dyn Objects,
    pod: &Value,
    container: &Value,
    address: IpAddr,
) -> Result<Vec<(String, String)>, String> {
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut env = of_api_server(objects);
    for source in container["envFrom"].as_array().into_iter().flatten() {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        for (field, resource) in [("configMapRef", "configmaps"), ("secretRef", "secrets")] {
            let reference = &source[field];
            if !reference.is_object() {
                continue;
            }
            for (key, value) in data(objects, resource, namespace, reference)?.unwrap_or_default() {
                env.push((format!("{prefix}{key}"), value));
            }
        }
    }
    for variable in container["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap_or_default().to_owned();
        let from = &variable["valueFrom"];
        let value = if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
            Some(field(pod, path, address)?)
        } else if from["configMapKeyRef"].is_object() {
            of_key(objects, "configmaps", namespace, &from["configMapKeyRef"])?
        } else if from["secretKeyRef"].is_object() {
            of_key(objects, "secrets", namespace, &from["secretKeyRef"])?
        } else if from.is_object() {
            let kind = from.as_object().and_then(|from| from.keys().next());
            let kind = kind.map_or("valueFrom", String::as_str);
            return Err(format!("this kubelet does not support {kind} of variables"));
        } else {
            let value = variable["value"].as_str().unwrap_or_default();
            Some(expanded(value, &env))
        };
        env.extend(value.map(|value| (name, value)));
    }
    Ok(env)
}

/// Where the API server is, if it listens.
fn of_api_server(objects: &dyn Objects) -> Vec<(String, String)> {
    let endpoints = objects.get("endpoints", "default", "kubernetes");
    let subset = endpoints.map(|endpoints| endpoints["subsets"][0].clone());
    let Some(subset) = subset.filter(|subset| !subset.is_null()) else {
        return Vec::new();
    };
    let host = subset["addresses"][0]["ip"].as_str().unwrap_or_default();
    let port = subset["ports"][0]["port"].to_string();
    vec![
        ("KUBERNETES_SERVICE_HOST".to_owned(), host.to_owned()),
        ("KUBERNETES_SERVICE_PORT".to_owned(), port.clone()),
        ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), port),
    ]
}

fn of_key(
    objects: &dyn Objects,
    resource: &str,
    namespace: &str,
    reference: &Value,
) -> Result<Option<String>, String> {
    let Some(data) = data(objects, resource, namespace, reference)? else {
        return Ok(None);
    };
    let text = |name: &str| reference[name].as_str().unwrap_or_default();
    let (key, name) = (text("key"), text("name"));
    let value = data.into_iter().find(|(known, _)| known == key);
    match value {
        Some((_, value)) => Ok(Some(value)),
        None if reference["optional"] == true => Ok(None),
        None => {
            let kind = if resource == "secrets" {
                "Secret"
            } else {
                "ConfigMap"
            };
            Err(format!(
                "couldn't find key {key} in {kind} {namespace}/{name}"
            ))
        }
    }
}

/// The entries of a Secret or a ConfigMap; none if it is optional and not there.
fn data(
    objects: &dyn Objects,
    resource: &str,
    namespace: &str,
    reference: &Value,
) -> Result<Option<Vec<(String, String)>>, String> {
    let name = reference["name"].as_str().unwrap_or_default();
    let Some(object) = objects.get(resource, namespace, name) else {
        if reference["optional"] == true {
            return Ok(None);
        }
        let kind = resource.trim_end_matches('s');
        return Err(format!("{kind} {} not found", quoted(name)));
    };
    let entries: Option<&Map<String, Value>> = object["data"].as_object();
    let entries = entries.into_iter().flatten();
    let decoded = entries.map(|(key, value)| {
        let text = value.as_str().unwrap_or_default();
        let value = if resource == "secrets" {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        } else {
            text.to_owned()
        };
        (key.clone(), value)
    });
    Ok(Some(decoded.collect()))
}
