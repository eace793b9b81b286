//! How many objects were compared.

use std::fmt;

/// How many objects were compared, and how they were answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreed {
    /// Requests that both forms let pass.
    pub allowed: usize,
    /// How often the policy changed an object.
    pub changed: usize,
    /// Requests that both forms denied.
    pub denied: usize,
    /// Requests that the API server refused before or after the policy, as of an object that is invalid.
    pub refused: usize,
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} allowed, {} of them changed, {} denied, {} refused for other reasons",
            self.allowed, self.changed, self.denied, self.refused
        )
    }
}
