//! Reports for people and for programs.

mod github;
mod json;
mod junit;
mod sarif;
mod text;

pub use github::github;
pub use json::json;
pub use junit::junit;
pub use sarif::sarif;
pub use text::{summary, text};

use crate::finding::Severity;

/// The word for a severity that compilers and CI systems share.
fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
