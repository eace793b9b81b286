//! The fields of a pod that its containers can be told.

use std::net::IpAddr;

use kubewright_apimachinery::go_text::quoted;
use serde_json::{Map, Value};

/// The value of a `fieldRef`. The pod's address is the one on which its programs listen.
pub(crate) fn field(pod: &Value, path: &str, address: IpAddr) -> Result<String, String> {
    let metadata = &pod["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some((map, key)) = path
        .strip_suffix("']")
        .and_then(|inner| inner.split_once("['"))
    {
        return match map {
            "metadata.labels" => Ok(text(&metadata["labels"][key])),
            "metadata.annotations" => Ok(text(&metadata["annotations"][key])),
            _ => Err(unsupported(path)),
        };
    }
    Ok(match path {
        "metadata.name" => text(&metadata["name"]),
        "metadata.namespace" => text(&metadata["namespace"]),
        "metadata.uid" => text(&metadata["uid"]),
        "metadata.labels" => lines(&metadata["labels"]),
        "metadata.annotations" => lines(&metadata["annotations"]),
        "spec.nodeName" => text(&pod["spec"]["nodeName"]),
        "spec.serviceAccountName" => text(&pod["spec"]["serviceAccountName"]),
        "status.hostIP" | "status.hostIPs" => text(&pod["status"]["hostIP"]),
        "status.podIP" | "status.podIPs" => address.to_string(),
        _ => return Err(unsupported(path)),
    })
}

fn unsupported(path: &str) -> String {
    format!("unsupported fieldPath: {path}")
}

/// A map as files of the downward API show it.
fn lines(map: &Value) -> String {
    let map: Option<&Map<String, Value>> = map.as_object();
    let mut lines: Vec<String> = map
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", quoted(value.as_str().unwrap_or_default())))
        .collect();
    lines.sort();
    lines.join("\n")
}
