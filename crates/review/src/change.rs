//! What is about to happen to an object.

/// What is about to happen to an object: exactly the objects that exist, no options.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "Kubernetes admits exactly these four operations, and handlers match on all of them"
)]
pub enum Change<K> {
    /// The object is about to be stored for the first time.
    Create(K),
    /// A stored object is about to be replaced.
    Update {
        /// The object as it is stored.
        old: K,
        /// The object as it is about to be stored.
        new: K,
    },
    /// A stored object is about to be deleted.
    Delete(K),
    /// A client is about to connect to a sub-resource such as `pods/exec`; the object holds the options of the connection.
    Connect(K),
}

impl<K> Change<K> {
    /// The object that this is about: the new one, or the old one if it is about to be deleted.
    pub fn object(&self) -> &K {
        match self {
            Self::Create(object)
            | Self::Update { new: object, .. }
            | Self::Delete(object)
            | Self::Connect(object) => object,
        }
    }

    /// Takes the object that this is about: the new one, or the old one if it is about to be deleted.
    pub fn into_object(self) -> K {
        match self {
            Self::Create(object)
            | Self::Update { new: object, .. }
            | Self::Delete(object)
            | Self::Connect(object) => object,
        }
    }

    /// The object as it is stored, if it is.
    pub fn old(&self) -> Option<&K> {
        match self {
            Self::Update { old, .. } | Self::Delete(old) => Some(old),
            Self::Create(_) | Self::Connect(_) => None,
        }
    }

    /// The object as it is about to be stored, if it is.
    pub fn new_object(&self) -> Option<&K> {
        match self {
            Self::Create(new) | Self::Update { new, .. } => Some(new),
            Self::Delete(_) | Self::Connect(_) => None,
        }
    }

    /// Turns every object into another type.
    pub fn map<T>(self, mut convert: impl FnMut(K) -> T) -> Change<T> {
        match self {
            Self::Create(object) => Change::Create(convert(object)),
            Self::Update { old, new } => Change::Update {
                old: convert(old),
                new: convert(new),
            },
            Self::Delete(object) => Change::Delete(convert(object)),
            Self::Connect(object) => Change::Connect(convert(object)),
        }
    }
}
