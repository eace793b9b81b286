//! The query parameters of requests with their descriptions, read from a table.

use std::sync::LazyLock;

use kubewright_apimachinery::descriptions::unescaped;
use serde_json::{Value, json};

const TEXT: &str = include_str!("parameters.txt");

/// The parameters of a kind of request: `list`, `create`, `PodExecOptions`.
pub(super) fn of(set: &str) -> Vec<Value> {
    static SETS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
        let sets = TEXT.split("\n[").skip(1);
        sets.filter_map(|set| set.split_once("]\n")).collect()
    });
    let lines = SETS.iter().find(|(name, _)| *name == set);
    let lines = lines.map_or("", |(_, lines)| lines).lines();
    lines.filter_map(in_query).collect()
}

fn in_query(line: &str) -> Option<Value> {
    let (name, rest) = line.split_once('\t')?;
    let (ty, text) = rest.split_once('\t')?;
    Some(json!({
        "name": name,
        "in": "query",
        "description": unescaped(text),
        "schema": { "type": ty, "uniqueItems": true },
    }))
}

/// A parameter that is a part of the path.
pub(super) fn in_path(name: &str, text: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": text,
        "required": true,
        "schema": { "type": "string", "uniqueItems": true },
    })
}
