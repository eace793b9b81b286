//! How the API server treats a kind as a whole: creation by PUT, blind updates, deletion.

/// What a kind allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "facts that the REST layer asks for"
)]
pub struct Behavior {
    /// A PUT or a patch of a missing object creates it.
    pub create_on_update: bool,
    /// A PUT without a resource version overwrites whatever is stored.
    pub unconditional_update: bool,
    /// An immediate deletion answers the object and not a Status.
    pub returns_deleted: bool,
    /// What happens to the dependents when the client does not say.
    pub propagation: Propagation,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two defaults that there are")]
pub enum Propagation {
    /// They are deleted later.
    Background,
    /// They stay.
    Orphan,
}

impl Default for Behavior {
    /// Returns the behavior of most built-in kinds.
    fn default() -> Self {
        Self {
            create_on_update: false,
            unconditional_update: true,
            returns_deleted: false,
            propagation: Propagation::Background,
        }
    }
}
