//! The progress of a rotation, as the Secret records it.

use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;

/// A step of a rotation, which is one write of the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "these are all the steps")]
pub enum Phase {
    /// The next authority is in the Secret.
    Staged,
    /// Every object carries it.
    Published,
    /// It signs.
    Switched,
    /// The one before is no longer trusted.
    Retired,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Staged, Self::Published, Self::Switched, Self::Retired];
}

/// The state that the Secret contains beside keys and certificates.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Story {
    pub(crate) generation: u64,
    next: Option<String>,
    published: Option<String>,
    #[serde(default)]
    switched: Vec<String>,
    #[serde(default)]
    retired: Vec<String>,
}

impl Story {
    pub(crate) fn of(secret: &Secret) -> Option<Self> {
        let text = secret.data.as_ref()?.get("state")?;
        serde_json::from_slice(&text.0).ok()
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.next.is_some()
    }

    /// Whether the rotation that was asked for at an earlier time has come to a phase.
    pub(crate) fn has_come_to(&self, phase: Phase, before: &Self) -> bool {
        let is_switched = self.generation > before.generation;
        match phase {
            Phase::Staged => is_switched || self.next.is_some(),
            Phase::Published => is_switched || self.published.is_some(),
            Phase::Switched => is_switched,
            Phase::Retired => {
                is_switched && (self.switched.is_empty() || self.retired != before.retired)
            }
        }
    }
}
