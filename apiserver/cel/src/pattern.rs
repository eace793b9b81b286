//! Regular expressions as Go's `regexp` package reads them.

use std::fmt;

use regex::Regex;
use thiserror::Error;

use crate::library::regular;

/// A regular expression in the syntax of RE2, as `matches(..)` in expressions and `pattern` in OpenAPI schemas take it.
///
/// A pattern that Go refuses is refused in the same words, and any other matches the same strings as in Go.
///
/// ```
/// use kubewright_cel::Pattern;
///
/// let pattern = Pattern::compile(r"^\p{Greek}+$")?;
/// assert!(pattern.is_match("λόγος") && !pattern.is_match("logos"));
///
/// let refused = Pattern::compile("a(?=b)").unwrap_err();
/// assert_eq!(refused.to_string(), "error parsing regexp: invalid or unsupported Perl syntax: `(?=`");
/// # Ok::<(), kubewright_cel::PatternError>(())
/// ```
#[derive(Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// The pattern is invalid, or takes more than 64 MiB once it is compiled.
    pub fn compile(pattern: &str) -> Result<Self, PatternError> {
        let compiled = regular::compile(pattern);
        compiled
            .map(Self)
            .map_err(|failure| PatternError(failure.to_string()))
    }

    /// Whether the pattern matches anywhere in a string.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.0.as_str()).finish()
    }
}

/// Why a pattern does not compile, in Go's words: ``error parsing regexp: missing closing ]: `[a` ``.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PatternError(String);
