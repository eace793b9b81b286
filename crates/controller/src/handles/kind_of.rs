//! The kind of the objects of a handle: that of their type, or one that is a value.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::{DynamicKind, Kind, Object};

/// The kind of objects of this type.
pub(crate) struct KindOf<K> {
    kind: Kind,
    type_: PhantomData<fn() -> K>,
}

impl<K: Object> KindOf<K> {
    pub(crate) fn type_() -> Self {
        Self {
            kind: Kind::of::<K>(),
            type_: PhantomData,
        }
    }
}

impl<K: DynamicKind> KindOf<K> {
    pub(crate) fn value(kind: &Kind) -> Self {
        Self {
            kind: kind.read_as::<K>(),
            type_: PhantomData,
        }
    }
}

impl<K> Deref for KindOf<K> {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.kind
    }
}

impl<K> Clone for KindOf<K> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            type_: PhantomData,
        }
    }
}

impl<K> fmt::Debug for KindOf<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(formatter)
    }
}
