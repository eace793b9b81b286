//! What a controller watches besides its own objects.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::handles::Undecodable;
use crate::informer::{Delta, Entry};
use crate::{Key, Kind, Object, ObjectRef, Predicate, Scope};

/// Objects that a controller watches: a change of one reconciles objects of the controller.
pub struct Watch<K> {
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
    pub(crate) predicate: Predicate,
    /// Whether the metadata alone says which objects a change concerns, without a call of the user's function.
    pub(crate) is_quick: bool,
    map: Map<K>,
}

type Map<K> = Arc<dyn Fn(&Entry) -> Result<Vec<ObjectRef<K>>, serde_json::Error> + Send + Sync>;

/// Watches the objects that those of the controller own.
#[derive(Clone, Debug)]
#[must_use]
pub struct Owned<T> {
    scope: Scope,
    predicate: Predicate,
    kind: PhantomData<fn() -> T>,
}

/// Watches the objects of a kind that the controller's objects own: a change reconciles the owner, which is the one whose
/// owner reference has `controller: true`.
pub fn owned<T: Object>() -> Owned<T> {
    Owned {
        scope: Scope::all(),
        predicate: Predicate::any_change(),
        kind: PhantomData,
    }
}

/// Watches objects that are related to the controller's objects: a function maps each watched object to those.
///
/// The function is called with the object before and after the change. While it runs, other changes that this controller
/// watches wait; changes for caches and other controllers do not, unless a thousand wait already. It may read caches, and
/// makes no requests.
pub fn related<T, K, References>(map: impl Fn(&T) -> References + Send + Sync + 'static) -> Watch<K>
where
    T: Object,
    References: IntoIterator<Item = ObjectRef<K>>,
{
    Watch {
        kind: Kind::of::<T>(),
        scope: Scope::all(),
        predicate: Predicate::any_change(),
        is_quick: false,
        map: Arc::new(move |entry| Ok(map(&entry.decode()?).into_iter().collect())),
    }
}

impl<T> Owned<T> {
    /// Watches only these.
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Heeds only changes that match the predicate. Default: any change.
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.predicate = predicate;
        self
    }
}

impl<K> Watch<K> {
    /// Watches only these.
    #[must_use]
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Heeds only changes that match the predicate. Default: any change.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.predicate = predicate;
        self
    }

    /// The objects that a change concerns.
    pub(crate) fn concerned(&self, delta: &Delta) -> Vec<Key> {
        let mut concerned = Vec::new();
        for entry in delta.old.iter().chain(&delta.new) {
            match (self.map)(entry) {
                Ok(references) => {
                    concerned.extend(references.into_iter().map(ObjectRef::into_key));
                }
                Err(error) => tracing::error!(
                    object = %self.kind.reference(entry.key()), error = %Undecodable::from(error),
                    "cannot decode an object: its change is not heeded"
                ),
            }
        }
        concerned.sort_unstable();
        concerned.dedup();
        concerned
    }
}

impl<K: Object, T: Object> From<Owned<T>> for Watch<K> {
    fn from(owned: Owned<T>) -> Self {
        let kind = Kind::of::<K>();
        Self {
            kind: Kind::of::<T>(),
            scope: owned.scope,
            predicate: owned.predicate,
            is_quick: true,
            map: Arc::new(move |entry| Ok(owner(&kind, entry).into_iter().collect())),
        }
    }
}

fn owner<K>(kind: &Kind, entry: &Entry) -> Option<ObjectRef<K>> {
    let owner = entry.metadata().controller()?;
    let group = owner
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    (*owner.kind == *kind.name() && group == kind.group()).then(|| {
        let namespace = entry.key().namespace().filter(|_| kind.is_namespaced());
        ObjectRef::at(Key::new(namespace, &owner.name))
    })
}

impl<K> fmt::Debug for Watch<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Watch")
            .field("kind", &self.kind)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
