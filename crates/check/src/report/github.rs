//! Workflow commands of GitHub Actions, which annotate the lines of a pull request.

use std::fmt::Write as _;

use super::word;
use crate::checker::Report;

/// One command for each finding.
#[must_use]
pub fn github(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let mut properties = vec![format!("title={}", property(&finding.rule))];
        if let Some(location) = &finding.location {
            properties.push(format!("file={}", property(&location.source)));
            properties.push(format!("line={}", location.start.line));
            properties.push(format!("endLine={}", location.end.line));
            // Columns are those of one line.
            if location.start.line == location.end.line {
                properties.push(format!("col={}", location.start.column));
                properties.push(format!("endColumn={}", location.end.column));
            }
        }
        let mut message = finding.message.clone();
        if let Some(object) = &finding.object {
            let of = finding
                .field
                .as_ref()
                .map_or(String::new(), |field| format!("{field} of "));
            message = format!("{of}{object}: {message}");
        }
        if let Some(help) = &finding.help {
            message.push('\n');
            message.push_str(help);
        }
        let _ = writeln!(
            text,
            "::{} {}::{}",
            word(finding.severity),
            properties.join(","),
            data(&message)
        );
    }
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
