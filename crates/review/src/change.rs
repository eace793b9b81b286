//! What is about to happen to an object.

/// A change of an object: exactly the objects that exist, no options.
///
/// ```
/// use kubewright_review::Change;
///
/// /// The size of a volume, which may only grow.
/// fn check(change: &Change<u32>) -> Result<(), String> {
///     match change {
///         Change::Update { old, new } if new < old => Err(format!("{old} GiB cannot shrink to {new} GiB")),
///         Change::Create(_) | Change::Update { .. } | Change::Delete(_) | Change::Connect(_) => Ok(()),
///     }
/// }
///
/// assert_eq!(check(&Change::Create(1)), Ok(()));
/// assert_eq!(check(&Change::Update { old: 2, new: 1 }), Err("2 GiB cannot shrink to 1 GiB".to_owned()));
/// ```
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
    /// Returns the object that the change is about: the new one, or the old one if it is about to be deleted.
    ///
    /// ```
    /// use kubewright_review::Change;
    ///
    /// assert_eq!(Change::Update { old: "a", new: "b" }.object(), &"b");
    /// assert_eq!(Change::Delete("a").object(), &"a");
    /// ```
    pub fn object(&self) -> &K {
        match self {
            Self::Create(object)
            | Self::Update { new: object, .. }
            | Self::Delete(object)
            | Self::Connect(object) => object,
        }
    }

    /// Takes the object that the change is about: the new one, or the old one if it is about to be deleted.
    ///
    /// ```
    /// use kubewright_review::Change;
    ///
    /// // How a mutator begins.
    /// let mut labels = Change::Create(vec!["team"]).into_object();
    /// labels.push("stage");
    /// assert_eq!(labels, ["team", "stage"]);
    /// ```
    pub fn into_object(self) -> K {
        match self {
            Self::Create(object)
            | Self::Update { new: object, .. }
            | Self::Delete(object)
            | Self::Connect(object) => object,
        }
    }

    /// Returns the object as it is stored, or `None` if nothing is stored yet.
    ///
    /// ```
    /// use kubewright_review::Change;
    ///
    /// assert_eq!(Change::Update { old: "a", new: "b" }.old(), Some(&"a"));
    /// assert_eq!(Change::Create("a").old(), None);
    /// ```
    pub fn old(&self) -> Option<&K> {
        match self {
            Self::Update { old, .. } | Self::Delete(old) => Some(old),
            Self::Create(_) | Self::Connect(_) => None,
        }
    }

    /// Returns the object that is about to be stored, or `None` for a deletion or connection.
    ///
    /// ```
    /// use kubewright_review::Change;
    ///
    /// assert_eq!(Change::Update { old: "a", new: "b" }.new_object(), Some(&"b"));
    /// assert_eq!(Change::Delete("a").new_object(), None);
    /// ```
    pub fn new_object(&self) -> Option<&K> {
        match self {
            Self::Create(new) | Self::Update { new, .. } => Some(new),
            Self::Delete(_) | Self::Connect(_) => None,
        }
    }

    /// Converts every object into another type.
    ///
    /// ```
    /// use kubewright_review::Change;
    ///
    /// let lengths = Change::Update { old: "a", new: "abc" }.map(str::len);
    /// assert_eq!(lengths, Change::Update { old: 1, new: 3 });
    /// ```
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
