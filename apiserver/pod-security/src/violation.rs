//! What a pod violates of one check.

/// The reason, and what of the pod it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) reason: String,
    pub(crate) detail: String,
}

pub(crate) fn violation(reason: &str, detail: String) -> Violation {
    Violation {
        reason: reason.to_owned(),
        detail,
    }
}
