//! What a store holds before the first write.

use std::fmt;

use crate::object::Draft;

/// The objects that a store has from the beginning, such as the namespaces and roles of a new cluster.
///
/// The store asks for those of a resource when that resource is first read or written.
pub trait InitialObjects: fmt::Debug + Send + Sync {
    /// Returns the revision of the last of them, at which the store begins.
    fn revision(&self) -> u64;

    /// Returns the revision up to which the past is not known; 0 if every object was created at its own revision, and nothing
    /// else has happened.
    fn opened(&self) -> u64 {
        0
    }

    /// Returns the resources that have any.
    fn resources(&self) -> Vec<&str>;

    /// Returns whether a resource has any.
    fn has(&self, resource: &str) -> bool;

    /// Returns those of a resource, oldest first, each with its revision and path.
    fn of(&self, resource: &str) -> Vec<(u64, String, Draft)>;
}
