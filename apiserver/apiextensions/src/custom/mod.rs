//! Custom resources: what a definition makes of a resource, and the rules of its objects (spec sections D.4 to D.8).

mod columns;
pub mod convert;
mod decode;
mod definition;
mod fields;
mod json_path;
mod metadata;
mod read;
pub mod scale;
mod strategy;
mod validation;

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use kubewright_registry::Resource;

pub use definition::{Definition, Scale, Version};
pub use fields::Selectable;
pub use strategy::empties;

/// What the server knows of a resource that a definition made: one version of it.
#[derive(Clone)]
pub struct Custom {
    /// The definition, with all versions.
    pub definition: Arc<Definition>,
    at: usize,
}

impl Custom {
    /// Returns the rules of a resource that a definition made.
    #[inline]
    pub fn of(resource: &Resource) -> Option<&Self> {
        let strategy: &dyn Any = &*resource.strategy;
        strategy.downcast_ref()
    }
}

impl Deref for Custom {
    type Target = Version;

    #[inline]
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
