//! What is decided of a Job, before and after its last pods have ended.

/// What is decided of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) succeeds: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Decision {
    pub(super) fn fails(reason: &str, message: &str) -> Self {
        Self {
            succeeds: false,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    pub(super) fn succeeds(reason: &str, message: &str) -> Self {
        Self {
            succeeds: true,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    /// The condition that says what is decided while pods still have to end.
    pub(super) fn interim(&self) -> &'static str {
        if self.succeeds {
            "SuccessCriteriaMet"
        } else {
            "FailureTarget"
        }
    }

    /// The condition of a Job that is over.
    pub(super) fn last(&self) -> &'static str {
        if self.succeeds { "Complete" } else { "Failed" }
    }
}
