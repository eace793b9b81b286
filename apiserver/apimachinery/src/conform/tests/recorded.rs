//! Objects decoded and encoded by Go: `fixtures/go-objects.jsonl`, recorded once.
//!
//! A Go program read each `in` with `sigs.k8s.io/json` (strict) into the type of k8s.io/api v0.37.2, wrote it as protobuf
//! (`proto`), read that, and wrote JSON (`obj`); `err` is the error for an object that it rejected. The objects are random,
//! one or more for every kind that is served by default.

use serde_json::Value;

/// One recorded object with Go's output for it.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) strict: Vec<String>,
    pub(crate) error: Option<String>,
    /// Base64.
    pub(crate) protobuf: Option<String>,
}

pub(crate) fn all() -> impl Iterator<Item = Case> {
    let text = include_str!("../../../fixtures/go-objects.jsonl");
    text.lines().map(|line| {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let strict = case["strict"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Case {
            input: case["in"].take(),
            output: case["obj"].take(),
            strict: strict.iter().filter_map(text).collect(),
            error: text(&case["err"]),
            protobuf: text(&case["proto"]),
        }
    })
}
