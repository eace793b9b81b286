//! The report for programs.

use serde_json::{Value, json};

use crate::checker::Report;
use crate::finding::Severity;

/// The findings with their positions, and how many objects were checked.
#[must_use]
pub fn json(report: &Report) -> Value {
    json!({
        "checked": report.checked.len(),
        "ignored": report.ignored,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "findings": report.findings,
    })
}
