//! What metrics are about, and whether a program has any of it.

use crate::{Controllers, Parts};

/// What metrics are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Process,
    Webhooks,
    Trust,
    Controllers,
    Election,
    Tasks,
    Configuration,
    ApiServer,
}

impl Subject {
    /// Whether a program has metrics of this.
    pub(super) fn is_in(self, parts: &Parts) -> bool {
        match self {
            Self::Process => true,
            Self::Webhooks => parts.is_called(),
            Self::Trust => parts.is_called() && parts.own_secret.is_some(),
            Self::Controllers => parts.controllers != Controllers::None,
            Self::Election => parts.controllers == Controllers::OneReplica,
            Self::Tasks => parts.has_tasks,
            Self::Configuration => parts.follows_configuration,
            Self::ApiServer => !parts.permissions.is_empty(),
        }
    }
}
