//! Custom resources: what a definition makes of a resource, and the rules of its objects (spec sections D.4 to D.8).

mod columns;
pub(crate) mod convert;
pub(crate) mod decode;
mod definition;
pub(crate) mod fields;
mod json_path;
mod metadata;
mod read;
pub(crate) mod scale;
mod strategy;
mod validation;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use decode::settle_numbers;
pub(crate) use definition::{Definition, Scale, Version};
pub(crate) use strategy::warnings;

/// What the server knows of a resource that a definition made: one version of it.
#[derive(Clone)]
pub(crate) struct Custom {
    pub(crate) definition: Arc<Definition>,
    at: usize,
}

impl Deref for Custom {
    type Target = Version;

    fn deref(&self) -> &Version {
        &self.definition.versions[self.at]
    }
}

impl fmt::Debug for Custom {
    /// Differs whenever the definition does: documents are known by it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom")
            .field("since", &self.definition.since)
            .field("uid", &self.definition.uid)
            .finish_non_exhaustive()
    }
}
