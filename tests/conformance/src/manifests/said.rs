//! What is said of a manifest, in the words of kubectl.

use std::collections::BTreeSet;
use std::fmt;

use kubewright_apimachinery::view::View as _;
use kubewright_check::{Outcome, Report};
use serde_json::Value;

/// The verdict, the warnings and the error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Said {
    /// Whether the manifest is accepted.
    pub accepted: bool,
    /// The warnings, each of them once.
    pub warnings: BTreeSet<String>,
    /// The error; empty if there is none.
    pub error: String,
}

impl Said {
    /// Whether `other` says the same, its errors in another order.
    pub(super) fn is_in_another_order(&self, other: &Self) -> bool {
        let lines = |said: &Self| {
            said.error
                .lines()
                .map(str::to_owned)
                .collect::<BTreeSet<_>>()
        };
        self.warnings == other.warnings && lines(self) == lines(other)
    }

    /// What kubectl printed of a file.
    pub(super) fn by_kubectl(accepted: bool, stderr: &str, file: &str) -> Self {
        let is_warning = |line: &&str| line.starts_with("Warning: ");
        let warnings = stderr.lines().filter(is_warning);
        let warnings = warnings.filter_map(|line| line.strip_prefix("Warning: "));
        let others: Vec<&str> = stderr.lines().filter(|line| !is_warning(line)).collect();
        let others = others.join("\n");
        // A sentence may end with a blank.
        let mut error = others.trim_matches('\n').to_owned();
        // Names of files, of the resource and what to do about it: the check says these otherwise.
        let own = [
            "unable to decode \"",
            "error when retrieving current configuration of:",
            "resource mapping not found for name: ",
        ];
        if own
            .iter()
            .any(|own| error.starts_with(&format!("error: {own}")))
        {
            let said = error
                .split_once(&format!("{file}\": "))
                .map_or("", |parts| parts.1);
            error = format!("error: {}", said.lines().next().unwrap_or_default());
        }
        for doing in ["creating", "applying patch to", "validating"] {
            error = error.replace(&format!("error when {doing} \"{file}\": "), "");
        }
        Self {
            accepted,
            warnings: warnings.map(str::to_owned).collect(),
            error,
        }
    }

    /// What kubectl would print of the first object of a source.
    pub(super) fn of_report(report: &Report, source: &str) -> Self {
        let checked = report
            .checked
            .iter()
            .find(|checked| checked.source == source);
        let error = match checked.map(|checked| &checked.outcome) {
            Some(Outcome::Accepted(_)) => String::new(),
            Some(Outcome::Refused(status)) => error(status),
            Some(Outcome::NoDefinition) => report
                .findings
                .first()
                .map(|finding| format!("error: {}", finding.message))
                .unwrap_or_default(),
            None => "no object".to_owned(),
        };
        let warnings = checked
            .into_iter()
            .flat_map(|checked| checked.warnings.iter().cloned());
        Self {
            accepted: error.is_empty(),
            warnings: warnings.collect(),
            error,
        }
    }
}

/// The error that kubectl prints of a `Status`.
fn error(status: &Value) -> String {
    let (reason, message) = (status.text("reason"), status.text("message"));
    if reason != "Invalid" {
        return match reason {
            "" if status.at("details").is_null() => format!("error: {message}"),
            "" => format!("Error from server: {message}"),
            reason => format!("Error from server ({reason}): {message}"),
        };
    }
    let details = status.at("details");
    let (kind, name) = (details.text("kind"), details.text("name"));
    let causes = details.list("causes");
    let subject = match (kind, name) {
        ("", "") => "The request is invalid".to_owned(),
        (kind, name) => format!("The {kind} {name:?} is invalid"),
    };
    let mut errors: Vec<String> = Vec::new();
    for cause in causes {
        let said = format!("{}: {}", cause.text("field"), cause.text("message"));
        if !errors.contains(&said) {
            errors.push(said);
        }
    }
    match errors.as_slice() {
        [] if kind.is_empty() && name.is_empty() => format!("{subject}: {message}"),
        [] => subject,
        [one] => format!("{subject}: {one}"),
        more => {
            let lines: Vec<String> = more.iter().map(|error| format!("* {error}")).collect();
            format!("{subject}: \n{}", lines.join("\n"))
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.warnings {
            writeln!(f, "Warning: {warning}")?;
        }
        f.write_str(if self.accepted {
            "accepted"
        } else {
            &self.error
        })
    }
}
