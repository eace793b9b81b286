//! Resources as paths with operations.

use serde_json::{Map, Value, json};

use super::place;
use super::schemas::{Components, kind_value};
use crate::kinds::{GroupVersion, GroupVersionKind, Resource, Subresource, Verb};
use crate::schema::types;

const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

const ANSWER_TYPES: [&str; 2] = ["application/json", "application/yaml"];

/// The paths of one group and version; the schemas that they use go to `components`.
pub(super) fn of(group: &str, version: &GroupVersion, components: &mut Components) -> Value {
    let root = format!("/{}", place(group, &version.version));
    let mut paths = Map::new();
    for resource in &version.resources {
        Paths {
            root: &root,
            resource,
            components,
            out: &mut paths,
        }
        .write();
    }
    Value::Object(paths)
}

struct Paths<'a> {
    root: &'a str,
    resource: &'a Resource,
    components: &'a mut Components,
    out: &'a mut Map<String, Value>,
}

/// What an operation is called, and what goes in and out.
struct Operation<'a> {
    method: &'static str,
    /// The word in `x-kubernetes-action`.
    action: &'static str,
    kind: &'a GroupVersionKind,
    parameters: &'static [(&'static str, &'static str, &'static str)],
    body: Option<Value>,
    answer: Value,
}

impl Paths<'_> {
    fn write(&mut self) {
        let Self { root, resource, .. } = *self;
        let plural = &resource.plural;
        let (scope, names) = if resource.namespaced {
            ("namespaces/{namespace}/", &["namespace", "name"][..])
        } else {
            ("", &["name"][..])
        };
        let kind = GroupVersionKind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        };
        let of_names = &names[..names.len() - 1];
        if resource.namespaced && resource.allows(Verb::List) {
            let list = self.list(&kind);
            self.add(&format!("{root}/{plural}"), &[], vec![list]);
        }
        let mut all = Vec::new();
        for verb in &resource.verbs {
            match verb {
                Verb::List => all.push(self.list(&kind)),
                Verb::Create => all.push(self.create(&kind)),
                Verb::DeleteCollection => all.push(self.delete(&kind, "deletecollection")),
                _ => {}
            }
        }
        self.add(&format!("{root}/{scope}{plural}"), of_names, all);
        let mut one = Vec::new();
        for verb in &resource.verbs {
            match verb {
                Verb::Get => one.push(self.get(&kind)),
                Verb::Update => one.push(self.put(&kind)),
                Verb::Patch => one.push(self.patch(&kind)),
                Verb::Delete => one.push(self.delete(&kind, "delete")),
                _ => {}
            }
        }
        let path = format!("{root}/{scope}{plural}/{{name}}");
        self.add(&path, names, one);
        for subresource in &resource.subresources {
            self.subresource(&path, names, subresource);
        }
    }

    fn subresource(&mut self, path: &str, names: &[&str], subresource: &Subresource) {
        let kind = &subresource.kind;
        // Streams and proxies have options in their query and no objects.
        if kind.kind.ends_with("Options") || subresource.name == "log" {
            return;
        }
        let mut operations = Vec::new();
        for verb in &subresource.verbs {
            match verb {
                Verb::Get => operations.push(self.get(kind)),
                Verb::Create => operations.push(self.create(kind)),
                Verb::Update => operations.push(self.put(kind)),
                Verb::Patch => operations.push(self.patch(kind)),
                _ => {}
            }
        }
        self.add(&format!("{path}/{}", subresource.name), names, operations);
    }

    fn get<'k>(&mut self, kind: &'k GroupVersionKind) -> Operation<'k> {
        Operation {
            method: "get",
            action: "get",
            kind,
            parameters: &[],
            body: None,
            answer: self.components.kind(kind),
        }
    }

    fn list<'k>(&mut self, kind: &'k GroupVersionKind) -> Operation<'k> {
        Operation {
            method: "get",
            action: "list",
            kind,
            parameters: LIST,
            body: None,
            answer: self.components.list(kind),
        }
    }

    fn create<'k>(&mut self, kind: &'k GroupVersionKind) -> Operation<'k> {
        let object = self.components.kind(kind);
        Operation {
            method: "post",
            action: "post",
            kind,
            parameters: WRITE,
            body: Some(body(&["*/*"], &object)),
            answer: object,
        }
    }

    fn put<'k>(&mut self, kind: &'k GroupVersionKind) -> Operation<'k> {
        Operation {
            method: "put",
            action: "put",
            ..self.create(kind)
        }
    }

    fn patch<'k>(&mut self, kind: &'k GroupVersionKind) -> Operation<'k> {
        // kubectl takes the first type that it finds here, and custom resources have no strategic merge.
        let patch_types = if types::root(kind).is_some() {
            &PATCH_TYPES[..]
        } else {
            &PATCH_TYPES[..3]
        };
        let patch = self.components.patch();
        Operation {
            method: "patch",
            action: "patch",
            kind,
            parameters: PATCH,
            body: Some(body(patch_types, &patch)),
            answer: self.components.kind(kind),
        }
    }

    fn delete<'k>(&mut self, kind: &'k GroupVersionKind, action: &'static str) -> Operation<'k> {
        let options = GroupVersionKind {
            kind: "DeleteOptions".to_owned(),
            ..kind.clone()
        };
        let options = self.components.kind(&options);
        let status = GroupVersionKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Status".to_owned(),
        };
        Operation {
            method: "delete",
            action,
            kind,
            parameters: DELETE,
            body: Some(body(&["*/*"], &options)),
            answer: self.components.kind(&status),
        }
    }

    fn add(&mut self, path: &str, names: &[&str], operations: Vec<Operation<'_>>) {
        if operations.is_empty() {
            return;
        }
        let mut item = Map::new();
        for operation in operations {
            item.insert(operation.method.to_owned(), self.operation(operation));
        }
        let mut parameters: Vec<Value> = names
            .iter()
            .map(|name| {
                json!({
                    "name": name,
                    "in": "path",
                    "required": true,
                    "schema": { "type": "string", "uniqueItems": true },
                })
            })
            .collect();
        parameters.push(parameter(&(
            "pretty",
            "string",
            "If 'true', then the output is pretty printed.",
        )));
        item.insert("parameters".to_owned(), parameters.into());
        self.out.insert(path.to_owned(), Value::Object(item));
    }

    fn operation(&self, operation: Operation<'_>) -> Value {
        let Operation {
            action,
            kind,
            parameters,
            body,
            answer,
            ..
        } = operation;
        let mut value = json!({
            "description": format!("{action} {}", self.resource.plural),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind_value(kind),
            "responses": { "200": {
                "description": "OK",
                "content": content(&ANSWER_TYPES, &answer),
            } },
        });
        if !parameters.is_empty() {
            value["parameters"] = parameters.iter().map(parameter).collect();
        }
        if let Some(body) = body {
            value["requestBody"] = body;
        }
        value
    }
}

const DRY_RUN: (&str, &str, &str) = (
    "dryRun",
    "string",
    "When present, indicates that modifications should not be persisted. Valid values are: - All: all dry run stages will be processed",
);

const FIELD_MANAGER: (&str, &str, &str) = (
    "fieldManager",
    "string",
    "fieldManager is a name associated with the actor or entity that is making these changes.",
);

const FIELD_VALIDATION: (&str, &str, &str) = (
    "fieldValidation",
    "string",
    "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are: Ignore, Warn, Strict.",
);

const WRITE: &[(&str, &str, &str)] = &[DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const PATCH: &[(&str, &str, &str)] = &[
    DRY_RUN,
    FIELD_MANAGER,
    FIELD_VALIDATION,
    (
        "force",
        "boolean",
        "Force is going to \"force\" Apply requests. It means user will re-acquire conflicting fields owned by other people.",
    ),
];

const DELETE: &[(&str, &str, &str)] = &[
    DRY_RUN,
    (
        "gracePeriodSeconds",
        "integer",
        "The duration in seconds before the object should be deleted.",
    ),
    (
        "propagationPolicy",
        "string",
        "Whether and how garbage collection will be performed.",
    ),
];

const LIST: &[(&str, &str, &str)] = &[
    (
        "allowWatchBookmarks",
        "boolean",
        "allowWatchBookmarks requests watch events with type \"BOOKMARK\".",
    ),
    (
        "continue",
        "string",
        "The continue option should be set when retrieving more results from the server.",
    ),
    (
        "fieldSelector",
        "string",
        "A selector to restrict the list of returned objects by their fields.",
    ),
    (
        "labelSelector",
        "string",
        "A selector to restrict the list of returned objects by their labels.",
    ),
    (
        "limit",
        "integer",
        "limit is a maximum number of responses to return for a list call.",
    ),
    (
        "resourceVersion",
        "string",
        "resourceVersion sets a constraint on what resource versions a request may be served from.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "resourceVersionMatch determines how resourceVersion is applied to list calls.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "sendInitialEvents may be set together with watch=true.",
    ),
    (
        "timeoutSeconds",
        "integer",
        "Timeout for the list/watch call.",
    ),
    (
        "watch",
        "boolean",
        "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications.",
    ),
];

fn parameter((name, ty, description): &(&str, &str, &str)) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": { "type": ty, "uniqueItems": true },
    })
}

fn body(types: &[&str], schema: &Value) -> Value {
    json!({ "content": content(types, schema), "required": true })
}

fn content(types: &[&str], schema: &Value) -> Value {
    types
        .iter()
        .map(|ty| ((*ty).to_owned(), json!({ "schema": schema })))
        .collect::<Map<_, _>>()
        .into()
}
