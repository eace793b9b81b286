//! Diagnostics: the message, its severity, and where in which source it belongs.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "errors fail a check, and warnings do not"
)]
pub enum Severity {
    /// The API server accepts the object and warns.
    Warning,
    /// The API server refuses the object.
    Error,
}

/// The object that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ObjectReference {
    /// Its API version, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name; what `generateName` says, if it has no name.
    pub name: String,
}

/// A position in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// A piece of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Location {
    /// The name of the source.
    pub source: String,
    /// Where it begins.
    pub start: Position,
    /// Where it ends: the position behind its last character.
    pub end: Position,
    /// The same in bytes.
    #[serde(skip)]
    pub bytes: Range<usize>,
}

/// Another place that explains a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Related {
    /// Where it is.
    pub location: Location,
    /// What is there.
    pub message: String,
}

/// One diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// How serious it is.
    pub severity: Severity,
    /// What found it: a reason of Kubernetes, such as `FieldValueRequired`, or the name of a policy.
    pub rule: String,
    /// What is wrong, in the words of the API server.
    pub message: String,
    /// The path of the field, such as `spec.template.spec.containers[0].image`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The object, unless the document is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectReference>,
    /// Where it is; missing for a source that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// Other places, such as the policy that refused the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl fmt::Display for ObjectReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(newlines).collect())
    }

    fn position(&self, text: &str, byte: usize) -> Position {
        let line = self.0.partition_point(|start| *start <= byte);
        let start = self.0[line - 1];
        Position {
            line,
            column: 1 + text[start..byte].chars().count(),
        }
    }

    /// The piece of `text` between two bytes, which are moved to the next boundaries of characters.
    pub(crate) fn location(&self, source: &str, text: &str, bytes: Range<usize>) -> Location {
        let start = text.floor_char_boundary(bytes.start);
        let end = text.ceil_char_boundary(bytes.end).max(start);
        Location {
            source: source.to_owned(),
            start: self.position(text, start),
            end: self.position(text, end),
            bytes: start..end,
        }
    }
}
