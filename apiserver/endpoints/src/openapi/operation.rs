//! One operation on a path: its id, parameters, body and responses.

use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::{Map, Value, json};

use super::names::kind_value;

pub(super) const FORMS: [&str; 3] = [
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
pub(super) const FORMS_OF_LISTS: [&str; 5] = [
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
/// Custom resources have no protobuf messages.
pub(super) const FORMS_OF_CUSTOM: [&str; 2] = ["application/json", "application/yaml"];

/// An operation of an OpenAPI document.
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// The value of `x-kubernetes-action`; empty for paths of no resource.
    pub(super) action: &'static str,
    pub(super) id: String,
    pub(super) tag: String,
    pub(super) description: String,
    pub(super) kind: Option<GroupVersionKind>,
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Value>,
    /// The status codes of success. Every operation answers 401, too, to clients that are not authenticated.
    pub(super) codes: &'static [&'static str],
    pub(super) answer: Value,
    pub(super) forms: &'static [&'static str],
}

/// The path item of the operations of one path; parameters of all operations are listed once, in the item.
pub(super) fn path_item(mut operations: Vec<Operation>) -> Value {
    let mut shared: Vec<Value> = match operations.split_first() {
        Some((first, others)) => {
            let everywhere = |parameter: &&Value| {
                others
                    .iter()
                    .all(|other| other.parameters.contains(parameter))
            };
            first
                .parameters
                .iter()
                .filter(everywhere)
                .cloned()
                .collect()
        }
        None => Vec::new(),
    };
    let by_name = |parameter: &Value| parameter["name"].as_str().unwrap_or_default().to_owned();
    shared.sort_by_key(by_name);
    let mut item = Map::new();
    for operation in &mut operations {
        operation
            .parameters
            .retain(|parameter| !shared.contains(parameter));
        operation.parameters.sort_by_key(by_name);
        item.insert(operation.method.to_owned(), operation.to_value());
    }
    if !shared.is_empty() {
        item.insert("parameters".to_owned(), shared.into());
    }
    item.into()
}

/// A request body of any of these media types.
pub(super) fn body(forms: &[&str], schema: &Value, required: bool) -> Value {
    let mut body = json!({ "content": content(forms, schema) });
    if required {
        body["required"] = true.into();
    }
    body
}

impl Operation {
    fn to_value(&self) -> Value {
        let mut responses = Map::new();
        for code in self.codes {
            let description = match *code {
                "201" => "Created",
                "202" => "Accepted",
                _ => "OK",
            };
            let content = content(self.forms, &self.answer);
            let answer = json!({ "description": description, "content": content });
            responses.insert((*code).to_owned(), answer);
        }
        responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
        let mut value = json!({
            "tags": [self.tag],
            "description": self.description,
            "operationId": self.id,
            "responses": responses,
        });
        if !self.action.is_empty() {
            value["x-kubernetes-action"] = self.action.into();
        }
        if let Some(kind) = &self.kind {
            value["x-kubernetes-group-version-kind"] = kind_value(kind);
        }
        if !self.parameters.is_empty() {
            value["parameters"] = self.parameters.clone().into();
        }
        if let Some(body) = &self.body {
            value["requestBody"] = body.clone();
        }
        value
    }
}

fn content(forms: &[&str], schema: &Value) -> Value {
    forms
        .iter()
        .map(|form| ((*form).to_owned(), json!({ "schema": schema })))
        .collect::<Map<_, _>>()
        .into()
}

/// A GET that is not about a resource.
pub(super) fn plain() -> Operation {
    Operation {
        method: "get",
        action: "",
        id: String::new(),
        tag: String::new(),
        description: String::new(),
        kind: None,
        parameters: Vec::new(),
        body: None,
        codes: &["200"],
        answer: Value::Null,
        forms: &FORMS,
    }
}
