//! JUnit's XML, which CI systems show as tests: a suite for each source, a case for each object.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::checker::Report;
use crate::finding::{Finding, Severity};

/// The report as JUnit XML. Errors are failures; warnings are system output.
#[must_use]
pub fn junit(report: &Report) -> String {
    let mut suites: BTreeMap<&str, BTreeMap<String, Vec<&Finding>>> = BTreeMap::new();
    for checked in &report.checked {
        let cases = suites.entry(&checked.source).or_default();
        cases.entry(checked.object.to_string()).or_default();
    }
    for finding in &report.findings {
        let source = finding
            .location
            .as_ref()
            .map_or("", |location| &location.source);
        let case = finding
            .object
            .as_ref()
            .map_or_else(|| finding.rule.clone(), ToString::to_string);
        suites
            .entry(source)
            .or_default()
            .entry(case)
            .or_default()
            .push(finding);
    }
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kubewright check\">\n",
    );
    for (source, cases) in &suites {
        let failed = cases
            .values()
            .filter(|findings| has_error(findings))
            .count();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">",
            escaped(source),
            cases.len()
        );
        for (case, findings) in cases {
            let _ = writeln!(
                xml,
                "    <testcase classname=\"{}\" name=\"{}\">",
                escaped(source),
                escaped(case)
            );
            for finding in findings {
                let said = escaped(&said(finding));
                let _ = match finding.severity {
                    Severity::Error => writeln!(
                        xml,
                        "      <failure type=\"{}\">{said}</failure>",
                        escaped(&finding.rule)
                    ),
                    Severity::Warning => writeln!(xml, "      <system-out>{said}</system-out>"),
                };
            }
            xml.push_str("    </testcase>\n");
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn has_error(findings: &[&Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}

fn said(finding: &Finding) -> String {
    let mut said = String::new();
    if let Some(location) = &finding.location {
        let _ = write!(
            said,
            "{}:{}:{}: ",
            location.source, location.start.line, location.start.column
        );
    }
    if let Some(field) = &finding.field {
        let _ = write!(said, "{field}: ");
    }
    said.push_str(&finding.message);
    said
}

/// Text for XML, without the characters that XML cannot have.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(character),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}
