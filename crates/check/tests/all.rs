//! Manifests in, findings out.

mod cluster;
mod findings;
mod input;
mod policy_tests;
mod positions;
mod reports;

use kubewright_check::{Checker, Report, Role, Source};

/// A source with this text.
fn source(name: &str, text: &str) -> Source {
    Source {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// Adds manifests to a check.
fn with(checker: Checker, text: &str) -> Checker {
    checker.source(Ok(source("manifest.yaml", text)), Role::Manifests)
}

/// Checks manifests against a new cluster.
async fn check(text: &str) -> Report {
    with(Checker::new(), text).run().await.expect("a report")
}

/// Each finding in a line: its rule, the underlined text, and what it says.
fn lines(report: &Report) -> Vec<String> {
    let line = |finding: &kubewright_check::Finding| {
        let underlined = finding.location.as_ref().map(|location| {
            let source = report
                .sources
                .iter()
                .find(|source| source.name == location.source);
            source.map_or("", |source| &source.text[location.bytes.clone()])
        });
        format!(
            "{} <{}> {}",
            finding.rule,
            underlined.unwrap_or_default(),
            finding.message
        )
    };
    report.findings.iter().map(line).collect()
}
