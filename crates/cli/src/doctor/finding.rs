//! Findings about a webhook, and their severity.

/// One finding about a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) weight: Weight,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Good,
    /// Not verifiable from this machine.
    Doubt,
    Problem,
}

impl Weight {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Doubt => "doubt",
            Self::Problem => "problem",
        }
    }
}

impl Finding {
    pub(super) fn good(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Good,
            text,
        }
    }

    pub(super) fn doubt(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Doubt,
            text,
        }
    }

    pub(super) fn problem(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Problem,
            text,
        }
    }
}
