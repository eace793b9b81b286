//! Operations of v3 as v2 writes them: bodies are parameters, and media types lists of an order.

use serde_json::{Map, Value, json};

use super::schemas::in_v2;

/// A path with its operations.
pub(super) fn path_item(item: &Value, custom: bool) -> Value {
    let mut converted = Map::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "parameters" => parameters(value, None),
            _ => operation(value, custom),
        };
        converted.insert(name.clone(), value);
    }
    converted.into()
}

fn operation(operation: &Value, custom: bool) -> Value {
    let mut converted = Map::new();
    let mut produces = Vec::new();
    for (name, value) in operation.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "responses" => responses(value, &mut produces),
            "parameters" | "requestBody" => continue,
            "description" if value == "" => continue,
            _ => value.clone(),
        };
        converted.insert(name.clone(), value);
    }
    let body = operation.get("requestBody");
    let parameters = parameters(&operation["parameters"], body);
    if parameters.as_array().is_some_and(|list| !list.is_empty()) {
        converted.insert("parameters".to_owned(), parameters);
    }
    produces.sort_by_key(|form| rank(form));
    let consumes = consumes(operation, custom, &produces);
    if !consumes.is_empty() {
        converted.insert("consumes".to_owned(), consumes.into());
    }
    if !produces.is_empty() {
        converted.insert("produces".to_owned(), produces.into());
    }
    converted.insert("schemes".to_owned(), json!(["https"]));
    converted.into()
}

/// The media types that an operation reads, as its route declares them: all routes of resources declare some, those of
/// discovery what they answer, and others nothing.
fn consumes(operation: &Value, custom: bool, produces: &[String]) -> Vec<String> {
    let action = operation["x-kubernetes-action"].as_str();
    let patches = action == Some("patch");
    if custom && action.is_some() && !patches {
        return ["application/json", "application/yaml"]
            .map(str::to_owned)
            .to_vec();
    }
    if let Some(content) = operation["requestBody"]["content"].as_object() {
        let mut forms: Vec<String> = content.keys().cloned().collect();
        forms.sort_by_key(|form| rank(form));
        return forms;
    }
    let tag = operation["tags"][0].as_str().unwrap_or_default();
    match (action, tag) {
        (Some(_), _) => vec!["*/*".to_owned()],
        (None, "openid" | "WellKnown" | "logs") => Vec::new(),
        (None, _) => produces.to_vec(),
    }
}

fn responses(responses: &Value, produces: &mut Vec<String>) -> Value {
    let mut converted = Map::new();
    for (code, response) in responses.as_object().into_iter().flatten() {
        let mut kept = json!({ "description": response["description"] });
        for (form, media) in response["content"].as_object().into_iter().flatten() {
            if !produces.contains(form) {
                produces.push(form.clone());
            }
            kept["schema"] = in_v2(media["schema"].clone());
        }
        converted.insert(code.clone(), kept);
    }
    converted.into()
}

fn parameters(list: &Value, body: Option<&Value>) -> Value {
    let mut converted: Vec<Value> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(parameter)
        .collect();
    converted.extend(body.map(body_parameter));
    let key = |parameter: &Value| {
        let text = |name: &str| parameter[name].as_str().unwrap_or_default().to_owned();
        (text("name"), text("in"))
    };
    converted.sort_by_cached_key(key);
    converted.into()
}

fn parameter(parameter: &Value) -> Value {
    let mut converted = Map::new();
    for (name, value) in parameter.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("schema", Value::Object(schema)) => converted.extend(schema.clone()),
            _ => drop(converted.insert(name.clone(), value.clone())),
        }
    }
    converted.into()
}

fn body_parameter(body: &Value) -> Value {
    let mut contents = body["content"].as_object().into_iter().flatten();
    let schema = contents.next().map(|(_, media)| media["schema"].clone());
    let mut converted = json!({
        "name": "body",
        "in": "body",
        "schema": in_v2(schema.unwrap_or_default()),
    });
    if body["required"] == true {
        converted["required"] = true.into();
    }
    converted
}

/// The place of a media type in the lists of the real server.
fn rank(form: &str) -> usize {
    const ORDER: [&str; 10] = [
        "text/plain",
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ];
    ORDER
        .iter()
        .position(|known| *known == form)
        .unwrap_or(ORDER.len())
}
