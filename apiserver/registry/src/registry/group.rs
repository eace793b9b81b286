//! API groups with their versions, and which of the built-in ones a registry has.

use std::sync::Arc;

use crate::resource::Resource;
use crate::strategy::Strategy;

/// Finds the strategy of a kind by its group and its name.
pub type Strategies = fn(group: &str, kind: &str) -> Option<Arc<dyn Strategy>>;

/// The built-in versions of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the two registries that servers have"
)]
pub enum Versions {
    /// Those that a server of the emulated version serves by default.
    Default,
    /// Every version, alpha and beta too (`--runtime-config=api/all=true`).
    All,
}

/// An API group and its served versions.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "built from tables inside this crate"
)]
pub struct Group {
    /// The name; empty for core.
    pub name: String,
    /// The versions; the first one is the preferred one.
    pub versions: Vec<GroupVersion>,
}

/// One version of a group.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "built from tables inside this crate"
)]
pub struct GroupVersion {
    /// The name, such as `v1beta1`.
    pub version: String,
    /// Its resources, by plural name.
    pub resources: Vec<Arc<Resource>>,
}
