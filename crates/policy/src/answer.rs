//! What a policy says of one request.

use serde_json::Value;

/// What a policy says of one request.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The rules that do not hold, and those that could not be evaluated while the failure policy is `Fail`, whatever the policy makes
    /// of them: denials, warnings or entries of the audit log.
    pub refused: Vec<Refused>,
    /// The rules, mutations and conditions that could not be evaluated while the failure policy is `Ignore`.
    pub ignored: Vec<Failed>,
    /// What the client is warned of.
    pub warnings: Vec<String>,
    /// The keys and values for the audit log, without the prefix of the policy.
    pub audit_annotations: Vec<(String, String)>,
    /// The object as the policy made it, if it is a mutating one that changed the object.
    pub object: Option<Value>,
    /// Whether a condition was false, so that nothing else was evaluated.
    pub skipped: bool,
    pub(crate) denies: bool,
}

/// A rule that refuses the request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Its number, from 0 on.
    pub rule: usize,
    /// The message.
    pub message: String,
    /// The code of the answer, such as 422.
    pub code: u16,
    /// Whether the rule could not be evaluated.
    pub failed: bool,
}

/// An expression that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// The error.
    pub message: String,
}

impl Answer {
    /// Returns why the request is denied: the first refusal, if the policy denies.
    pub fn denial(&self) -> Option<&Refused> {
        self.refused.first().filter(|_| self.denies)
    }
}
