//! OpenAPI documents as they are compared: a line for each operation and each field, so that megabytes become a page and
//! a difference says where it is.

use serde_json::{Map, Value, json};

/// The shape of a document of `/openapi/v3` or `/openapi/v2`: what each operation takes and answers, and what each schema's fields hold.
///
/// Descriptions are compared by their hash. Of its paths and schemas only those are there whose names contain `naming`. What is
/// not such a document stays as it is.
pub(crate) fn shape(document: &Value, naming: &str) -> Value {
    let Some(paths) = document.get("paths").and_then(Value::as_object) else {
        return document.clone();
    };
    let mut shape = Map::new();
    for (name, value) in document.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "paths" => paths
                .iter()
                .filter(|(path, _)| path.contains(naming))
                .map(|(path, item)| (path.clone(), path_item(item)))
                .collect::<Map<_, _>>()
                .into(),
            "components" => components(value, naming),
            "definitions" => schemas(value, naming),
            "parameters" if naming.is_empty() => named_parameters(value),
            "parameters" => continue,
            _ => value.clone(),
        };
        shape.insert(name.clone(), value);
    }
    shape.into()
}

/// Whether a document has a path whose name contains `naming`, or is no document.
pub(crate) fn names(document: &Value, naming: &str) -> bool {
    let Some(paths) = document.get("paths").and_then(Value::as_object) else {
        return true;
    };
    paths.keys().any(|path| path.contains(naming))
}

fn path_item(item: &Value) -> Value {
    let mut shape = Map::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "parameters" => parameters(value),
            _ => operation(value),
        };
        shape.insert(name.clone(), value);
    }
    shape.into()
}

fn operation(operation: &Value) -> Value {
    let mut shape = Map::new();
    let mut about = String::new();
    for (name, value) in operation.as_object().into_iter().flatten() {
        match name.as_str() {
            "description" => {}
            "parameters" => {
                shape.insert("parameters".into(), parameters(value));
            }
            "requestBody" => {
                let (of, forms) = content(value);
                let must = if value["required"] == true { "!" } else { "" };
                shape.insert("takes".into(), format!("{of}{must}").into());
                shape.insert("takes as".into(), forms.into());
            }
            "responses" => {
                let (mut answers, mut forms) = (Vec::new(), Vec::new());
                for (code, answer) in value.as_object().into_iter().flatten() {
                    let (of, as_what) = match answer.get("schema") {
                        Some(of) => (slot(of), String::new()),
                        None => content(answer),
                    };
                    answers.push(format!("{code} {of}").trim_end().to_owned());
                    if !as_what.is_empty() && !forms.contains(&as_what) {
                        forms.push(as_what);
                    }
                }
                shape.insert("answers".into(), answers.join(", ").into());
                shape.insert("answers as".into(), forms.join("; ").into());
            }
            "x-kubernetes-group-version-kind" => {
                shape.insert("kind".into(), kind(value).into());
            }
            _ => drop(shape.insert(name.clone(), value.clone())),
        }
    }
    descriptions(operation, &mut about);
    shape.insert("about".into(), hash(&about).into());
    shape.into()
}

/// `name:type` where it is a query parameter, else with the place in front; `!` for one that is required.
fn parameters(list: &Value) -> Value {
    let shown = list.as_array().into_iter().flatten().map(|parameter| {
        let text = |name: &str| parameter[name].as_str().unwrap_or_default();
        let place = match text("in") {
            "query" => String::new(),
            place => format!("{place} "),
        };
        let must = if parameter["required"] == true {
            "!"
        } else {
            ""
        };
        if let Some(shared) = parameter.get("$ref") {
            return slot(&json!({ "$ref": shared }));
        }
        // In v2 the type stands beside the name.
        let of = match parameter.get("schema") {
            Some(schema) => slot(schema),
            None => slot(&json!({
                "type": parameter["type"],
                "uniqueItems": parameter["uniqueItems"],
            })),
        };
        format!("{place}{}:{of}{must}", text("name"))
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort_unstable();
    shown.join(", ").into()
}

/// What a body holds and in which forms it comes.
fn content(body: &Value) -> (String, String) {
    let mut of: Vec<String> = Vec::new();
    let mut forms = Vec::new();
    for (form, media) in body["content"].as_object().into_iter().flatten() {
        let schema = slot(&media["schema"]);
        if !of.contains(&schema) {
            of.push(schema);
        }
        forms.push(form.as_str());
    }
    (of.join(" or "), forms.join(" "))
}

fn components(components: &Value, naming: &str) -> Value {
    let mut shape = components.clone();
    if let Some(of) = components.get("schemas") {
        shape["schemas"] = schemas(of, naming);
    }
    shape
}

fn schemas(named: &Value, naming: &str) -> Value {
    let named = named.as_object().into_iter().flatten();
    // A schema's name has the words of its group in the other order.
    let words: Vec<&str> = naming.rsplit('.').collect();
    let naming = words.join(".");
    named
        .filter(|(name, _)| name.contains(&naming))
        .map(|(name, value)| (name.clone(), schema(value)))
        .collect::<Map<_, _>>()
        .into()
}

fn named_parameters(named: &Value) -> Value {
    let named = named.as_object().into_iter().flatten();
    named
        .map(|(name, value)| (name.clone(), parameters(&json!([value]))))
        .collect::<Map<_, _>>()
        .into()
}

fn schema(schema: &Value) -> Value {
    let mut shape = Map::new();
    let mut own = schema.as_object().cloned().unwrap_or_default();
    let mut about = String::new();
    descriptions(schema, &mut about);
    if let Some(Value::Object(properties)) = own.remove("properties") {
        for (name, value) in &properties {
            shape.insert(format!(".{name}"), slot(value).into());
        }
    }
    if let Some(kinds) = own.remove("x-kubernetes-group-version-kind") {
        let mut kinds: Vec<String> = kinds.as_array().into_iter().flatten().map(kind).collect();
        kinds.sort_unstable();
        shape.insert("kinds".into(), kinds.join(", ").into());
    }
    shape.insert("is".into(), slot(&Value::Object(own)).into());
    shape.insert("about".into(), hash(&about).into());
    shape.into()
}

/// A schema in one line: what it is, then everything else that it says but its description.
fn slot(schema: &Value) -> String {
    let Some(fields) = schema.as_object() else {
        return String::new();
    };
    let mut used = vec!["description"];
    let mut text = match (fields.get("$ref"), fields.get("allOf"), fields.get("type")) {
        (Some(reference), ..) => {
            used.push("$ref");
            referred(reference)
        }
        (None, Some(Value::Array(all)), _) if all.len() == 1 => {
            used.push("allOf");
            referred(&all[0]["$ref"])
        }
        (None, _, Some(Value::String(kind))) => {
            used.push("type");
            let item = |name| match slot(&fields[name]) {
                item if item.contains(' ') => format!("({item})"),
                item => item,
            };
            match kind.as_str() {
                "array" if fields.contains_key("items") => {
                    used.push("items");
                    format!("[]{}", item("items"))
                }
                "object" if fields.contains_key("additionalProperties") => {
                    used.push("additionalProperties");
                    format!("{{}}{}", item("additionalProperties"))
                }
                kind => kind.to_owned(),
            }
        }
        _ => "any".to_owned(),
    };
    for (name, value) in fields {
        if used.contains(&name.as_str()) {
            continue;
        }
        let name = name.strip_prefix("x-kubernetes-").unwrap_or(name);
        let mut value = value.clone();
        // Which fields are required has no order.
        if let (true, Value::Array(names)) = (name == "required", &mut value) {
            names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
        text.extend([" ", name, "="]);
        match value {
            Value::String(value) if !value.is_empty() => text.push_str(&value),
            value => text.push_str(&value.to_string()),
        }
    }
    text
}

fn referred(reference: &Value) -> String {
    let reference = reference.as_str().unwrap_or_default();
    let name = reference
        .trim_start_matches("#/components/schemas/")
        .trim_start_matches("#/definitions/");
    name.to_owned()
}

fn kind(kind: &Value) -> String {
    let text = |name: &str| kind[name].as_str().unwrap_or_default();
    format!("{}/{} {}", text("group"), text("version"), text("kind"))
}

/// Appends every description below a value to `about`.
fn descriptions(value: &Value, about: &mut String) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => about.extend([text, "\n"]),
                    _ => descriptions(value, about),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, about)),
        _ => {}
    }
}

/// The first half of the FNV-1a hash of a string, in hexadecimal.
fn hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:08x}", hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        json!({
            "openapi": "3.0.0",
            "paths": {"/pods": {
                "parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}],
                "get": {
                    "description": "list pods",
                    "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
                    "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pod"}}}}},
                    "x-kubernetes-action": "list",
                    "x-kubernetes-group-version-kind": {"group": "", "version": "v1", "kind": "Pod"},
                },
            }},
            "components": {"schemas": {"Pod": {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {
                    "type": "array", "description": "x", "x-kubernetes-list-type": "map",
                    "items": {"allOf": [{"$ref": "#/components/schemas/Pod"}], "default": {}},
                }},
            }}},
        })
    }

    #[test]
    fn an_operation_and_a_field_are_a_line_each() {
        let shape = shape(&document(), "");
        let path = &shape["paths"]["/pods"];
        assert_eq!(path["parameters"], "path name:string!");
        let get = &path["get"];
        assert_eq!(get["parameters"], "limit:integer");
        assert_eq!(
            (&get["answers"], &get["answers as"]),
            (&json!("200 Pod"), &json!("application/json"))
        );
        assert_eq!(get["kind"], "/v1 Pod");
        let pod = &shape["components"]["schemas"]["Pod"];
        assert_eq!(pod[".a"], "[](Pod default={}) list-type=map");
        assert_eq!(pod["is"], "object required=[\"a\"]");
    }

    #[test]
    fn another_description_is_a_difference_of_the_texts_alone() {
        let mut other = document();
        other["components"]["schemas"]["Pod"]["properties"]["a"]["description"] = "y".into();
        let differences = crate::compare::compare(&shape(&document(), ""), &shape(&other, ""));
        let at: Vec<_> = differences.iter().map(|found| found.at.as_str()).collect();
        assert_eq!(at, ["/components/schemas/Pod/about"]);
    }

    #[test]
    fn a_document_of_v2_has_the_same_lines() {
        let shape = shape(
            &json!({
                "swagger": "2.0",
                "paths": {"/pods": {"get": {
                    "parameters": [
                        {"name": "limit", "in": "query", "type": "integer", "uniqueItems": true},
                        {"$ref": "#/parameters/a"},
                    ],
                    "responses": {"200": {"schema": {"$ref": "#/definitions/Pod"}}, "401": {}},
                    "produces": ["application/json"],
                }}},
                "definitions": {"Pod": {"type": "object", "properties": {"a": {"$ref": "#/definitions/Pod"}}}},
                "parameters": {"a": {"name": "a", "in": "query", "type": "string"}},
            }),
            "",
        );
        let get = &shape["paths"]["/pods"]["get"];
        assert_eq!(
            get["parameters"],
            "#/parameters/a, limit:integer uniqueItems=true"
        );
        assert_eq!(get["answers"], "200 Pod, 401");
        assert_eq!(get["produces"], json!(["application/json"]));
        assert_eq!(shape["definitions"]["Pod"][".a"], "Pod");
        assert_eq!(shape["parameters"]["a"], "a:string uniqueItems=null");
    }

    #[test]
    fn what_is_no_document_stays_as_it_is() {
        assert_eq!(
            shape(&json!({"kind": "Status"}), ""),
            json!({"kind": "Status"})
        );
    }
}
