//! SARIF 2.1.0, which code scanning of forges and editors read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::word;
use crate::checker::Report;
use crate::finding::{Finding, Location};

/// The report as a SARIF log with one run.
#[must_use]
pub fn sarif(report: &Report) -> Value {
    let rules: BTreeMap<&str, usize> = {
        let mut names: Vec<&str> = report
            .findings
            .iter()
            .map(|finding| finding.rule.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .enumerate()
            .map(|(index, name)| (name, index))
            .collect()
    };
    let results = report
        .findings
        .iter()
        .map(|finding| result(finding, &rules));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "kubewright check",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.keys().map(|id| json!({ "id": id })).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Finding, rules: &BTreeMap<&str, usize>) -> Value {
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": rules[finding.rule.as_str()],
        "level": word(finding.severity),
        "message": { "text": finding.message },
    });
    if let Some(location) = &finding.location {
        let mut place = physical(location);
        if let Some(object) = &finding.object {
            let name = object.to_string();
            let of = finding
                .field
                .as_ref()
                .map_or(name.clone(), |field| format!("{field} of {name}"));
            place["logicalLocations"] = json!([{ "fullyQualifiedName": of }]);
        }
        result["locations"] = json!([place]);
    }
    if !finding.related.is_empty() {
        let related = finding.related.iter().map(|related| {
            let mut place = physical(&related.location);
            place["message"] = json!({ "text": related.message });
            place
        });
        result["relatedLocations"] = related.collect();
    }
    result
}

fn physical(location: &Location) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&location.source) },
        "region": {
            "startLine": location.start.line,
            "startColumn": location.start.column,
            "endLine": location.end.line,
            "endColumn": location.end.column,
        },
    }})
}

/// A relative reference, with what URIs do not have encoded.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            b'\\' => uri.push('/'),
            other => {
                // Writing to a String cannot fail.
                _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}
