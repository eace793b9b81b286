//! Parameters that are the same in many operations stand once, by names that their hashes are part of.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Map, Value, json};

/// Moves the parameters out of the paths and returns them by their names.
pub(super) fn share(paths: &mut Map<String, Value>) -> BTreeMap<String, Value> {
    let mut shared = BTreeMap::new();
    for item in paths.values_mut() {
        for (name, value) in item.as_object_mut().into_iter().flatten() {
            let list = match name.as_str() {
                "parameters" => Some(value),
                _ => value.get_mut("parameters"),
            };
            for parameter in list.and_then(Value::as_array_mut).into_iter().flatten() {
                if stays(parameter) {
                    continue;
                }
                let name = name_of(parameter);
                let reference = json!({ "$ref": format!("#/parameters/{name}") });
                let parameter = std::mem::replace(parameter, reference);
                shared.insert(name, parameter);
            }
        }
    }
    shared
}

/// Parameters that differ by kind, and those by which old kubectl finds out what the server knows.
fn stays(parameter: &Value) -> bool {
    let name = parameter["name"].as_str().unwrap_or_default();
    match parameter["in"].as_str() {
        Some("body") => {
            let reference = parameter["schema"]["$ref"].as_str().unwrap_or_default();
            !reference.starts_with("#/definitions/io.k8s.apimachinery")
        }
        Some("query") => matches!(name, "name" | "fieldValidation" | "dryRun"),
        _ => name == "name",
    }
}

/// The parameter's name and a hash of its JSON, as Go writes it.
fn name_of(parameter: &Value) -> String {
    const FIELDS: [&str; 7] = [
        "uniqueItems",
        "type",
        "description",
        "name",
        "in",
        "required",
        "schema",
    ];
    let members = FIELDS.iter().filter_map(|field| {
        let value = parameter.get(field)?;
        Some(format!("\"{field}\":{value}"))
    });
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    let text = text
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
    });
    let name = parameter["name"].as_str().unwrap_or_default();
    format!("{name}-{}", URL_SAFE.encode(&hash.to_be_bytes()[..6]))
}
