//! Outcome of validating a value against a schema, and its conversion into field errors.

use std::collections::HashSet;

use kubewright_apimachinery::field::{FieldError, Path};
use serde_json::Value;

/// Problems that validation found. The number of passed checks decides which of several alternatives to report.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    problems: Vec<Problem>,
    /// The messages of the problems, to report each message once.
    reported: HashSet<String>,
    passed: usize,
}

#[derive(Debug)]
pub(super) struct Problem {
    /// Path relative to the validated value; empty for the value itself.
    name: String,
    text: String,
    sort: Sort,
}

#[derive(Debug)]
pub(super) enum Sort {
    Required,
    NotSupported {
        value: Value,
        supported: Vec<String>,
    },
    TooLong {
        limit: i64,
    },
    TooMany {
        actual: usize,
        limit: i64,
    },
    Type {
        value: Value,
    },
    Invalid {
        value: Value,
    },
    /// A combination of schemas does not match; the problem has no path.
    Combined,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// Counts a check, whether it passed or failed.
    pub(super) fn count(&mut self) {
        self.passed += 1;
    }

    pub(super) fn add(&mut self, path: &Path<'_>, text: String, sort: Sort) {
        let name = match sort {
            Sort::Combined => String::new(),
            _ => written(path),
        };
        self.push(Problem { name, text, sort });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.passed += other.passed;
        for problem in other.problems {
            self.push(problem);
        }
    }

    /// Drops the problems; the number of checks stays.
    pub(super) fn forgive(&mut self) {
        self.problems.clear();
        self.reported.clear();
    }

    fn push(&mut self, problem: Problem) {
        if self.reported.insert(problem.text.clone()) {
            self.problems.push(problem);
        }
    }

    /// The field errors of a value at the path `base`.
    pub(super) fn errors(self, base: &Path<'_>) -> impl Iterator<Item = FieldError> {
        self.problems
            .into_iter()
            .map(move |problem| problem.error(base))
    }
}

impl Problem {
    fn error(self, base: &Path<'_>) -> FieldError {
        let name = self.name.strip_prefix('.').unwrap_or(&self.name);
        let child = base.child(name);
        // An entry of the value itself whose key is empty is taken for the value.
        let path = if name.is_empty() { base } else { &child };
        match self.sort {
            Sort::Required => FieldError::required(path, ""),
            Sort::NotSupported { value, supported } => {
                let supported: Vec<&str> = supported.iter().map(String::as_str).collect();
                FieldError::not_supported(path, value, &supported)
            }
            Sort::TooLong { limit } => usize::try_from(limit).map_or_else(
                |_| FieldError::too_long_for_any(path),
                |limit| FieldError::too_long(path, limit),
            ),
            Sort::TooMany { actual, limit } => usize::try_from(limit).map_or_else(
                |_| FieldError::too_many_for_any(path, actual),
                |limit| FieldError::too_many(path, actual, limit),
            ),
            Sort::Type { value } => FieldError::type_invalid(path, value, &self.text),
            Sort::Invalid { value } => FieldError::invalid(path, value, &self.text),
            Sort::Combined => FieldError::invalid(base, "", &self.text),
        }
    }
}

/// A path as the messages write it: empty for the value itself.
pub(super) fn written(path: &Path<'_>) -> String {
    if path.is_root() {
        String::new()
    } else {
        path.to_string()
    }
}
