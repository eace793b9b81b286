//! Conditions on a change, joined by and, or and not.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::decoded::{Decode, Decoded};
use crate::informer::{Delta, Entry};

/// What a condition says of a change: that it matches, that it does not, or nothing.
pub(super) type Says = Option<bool>;

pub(super) enum Expression<K> {
    /// Any of these parts of an object has changed.
    Parts(Parts),
    Call(Arc<Call<K>>),
    Not(Arc<Self>),
    /// Both of two, that without closures first.
    All(Arc<[Self; 2]>),
    /// Either of two, that without closures first.
    Any(Arc<[Self; 2]>),
}

/// A part of an object whose change is known without decoding it.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Anything = 1,
    Generation = 2,
    Labels = 4,
    Annotations = 8,
    Content = 16,
}

/// A set of parts.
#[derive(Clone, Copy)]
pub(super) struct Parts(u8);

/// A user's closure. It brings the decoding with it, which programs without closures do not have.
pub(super) struct Call<K> {
    asked: Asked<K>,
    decode: Decode<K>,
}

/// When it is asked.
pub(super) enum Asked<K> {
    Created(Ask<K>),
    Deleted(Ask<K>),
    Object(Ask<K>),
    Updated(Compare<K>),
}

type Ask<K> = Box<dyn Fn(&K) -> bool + Send + Sync>;
type Compare<K> = Box<dyn Fn(&K, &K) -> bool + Send + Sync>;

impl<K> Expression<K> {
    pub(super) const fn one_of(part: Part) -> Self {
        Self::Parts(Parts(part as u8))
    }

    pub(super) fn call(asked: Asked<K>) -> Self
    where
        K: DeserializeOwned,
    {
        Self::Call(Arc::new(Call {
            asked,
            decode: Entry::decode::<K>,
        }))
    }

    pub(super) fn not(self) -> Self {
        Self::Not(Arc::new(self))
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self::All(Arc::new(self.in_order(other)))
    }

    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Parts(one), Self::Parts(another)) => Self::Parts(Parts(one.0 | another.0)),
            (one, another) => Self::Any(Arc::new(one.in_order(another))),
        }
    }

    fn in_order(self, other: Self) -> [Self; 2] {
        if self.has_calls() && !other.has_calls() {
            [other, self]
        } else {
            [self, other]
        }
    }

    fn has_calls(&self) -> bool {
        match self {
            Self::Parts(_) => false,
            Self::Call(_) => true,
            Self::Not(inner) => inner.has_calls(),
            Self::All(both) | Self::Any(both) => both.iter().any(Self::has_calls),
        }
    }

    /// What it says of a change, with what a function has its closures say.
    pub(super) fn say<E>(
        &self,
        delta: &Delta,
        call: &mut dyn FnMut(&Call<K>) -> Result<Says, E>,
    ) -> Result<Says, E> {
        match self {
            Self::Parts(parts) => Ok(parts.say(delta)),
            Self::Call(closure) => call(closure),
            Self::Not(inner) => Ok(inner.say(delta, call)?.map(|says| !says)),
            Self::All(both) => joined(both, false, delta, call),
            Self::Any(both) => joined(both, true, delta, call),
        }
    }
}

/// What two say together, of which either has its way if it says this.
fn joined<K, E>(
    [first, second]: &[Expression<K>; 2],
    either: bool,
    delta: &Delta,
    call: &mut dyn FnMut(&Call<K>) -> Result<Says, E>,
) -> Result<Says, E> {
    let first = first.say(delta, call)?;
    if first == Some(either) {
        return Ok(first);
    }
    // The first one says nothing, or leaves it to the second one.
    Ok(second.say(delta, call)?.or(first))
}

impl Parts {
    fn say(self, delta: &Delta) -> Says {
        let (Some(old), Some(new)) = (&delta.old, &delta.new) else {
            return None;
        };
        let (old, new) = (old.metadata(), new.metadata());
        Some(
            self.has(Part::Anything)
                || self.has(Part::Generation) && old.generation() != new.generation()
                || self.has(Part::Labels) && old.labels() != new.labels()
                || self.has(Part::Annotations) && old.annotations() != new.annotations()
                || self.has(Part::Content) && old.content() != new.content(),
        )
    }

    const fn has(self, part: Part) -> bool {
        self.0 & part as u8 != 0
    }
}

impl<K> Call<K> {
    /// Whether the closure is asked about a change.
    pub(super) fn has_say(&self, delta: &Delta) -> bool {
        match self.asked {
            Asked::Created(_) => delta.old.is_none(),
            Asked::Deleted(_) => delta.new.is_none(),
            Asked::Updated(_) => delta.old.is_some() && delta.new.is_some(),
            Asked::Object(_) => true,
        }
    }

    pub(super) fn say(&self, change: &Decoded<'_, K>) -> Result<Says, serde_json::Error> {
        if !self.has_say(change.delta()) {
            return Ok(None);
        }
        let (old, new) = (|| change.old(self.decode), || change.new_one(self.decode));
        Ok(match &self.asked {
            Asked::Created(ask) => new()?.map(ask),
            Asked::Deleted(ask) => old()?.map(ask),
            Asked::Updated(compare) => match (old()?, new()?) {
                (Some(old), Some(new)) => Some(compare(old, new)),
                _ => None,
            },
            Asked::Object(ask) => match new()?.map(ask) {
                Some(true) => Some(true),
                of_new => old()?.map(ask).or(of_new),
            },
        })
    }
}

impl<K> Clone for Expression<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Parts(parts) => Self::Parts(*parts),
            Self::Call(call) => Self::Call(Arc::clone(call)),
            Self::Not(inner) => Self::Not(Arc::clone(inner)),
            Self::All(both) => Self::All(Arc::clone(both)),
            Self::Any(both) => Self::Any(Arc::clone(both)),
        }
    }
}

impl<K> fmt::Debug for Expression<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parts(parts) => parts.fmt(formatter),
            Self::Call(call) => formatter.write_str(match call.asked {
                Asked::Created(_) => "created",
                Asked::Deleted(_) => "deleted",
                Asked::Object(_) => "object",
                Asked::Updated(_) => "updated",
            }),
            Self::Not(inner) => write!(formatter, "not {inner:?}"),
            Self::All(both) => write!(formatter, "({:?} and {:?})", both[0], both[1]),
            Self::Any(both) => write!(formatter, "({:?} or {:?})", both[0], both[1]),
        }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (Part::Anything, "any_change"),
            (Part::Generation, "generation_changed"),
            (Part::Labels, "labels_changed"),
            (Part::Annotations, "annotations_changed"),
            (Part::Content, "content_changed"),
        ];
        let names: Vec<&str> = all
            .iter()
            .filter(|(part, _)| self.has(*part))
            .map(|(_, name)| *name)
            .collect();
        match &*names {
            [one] => formatter.write_str(one),
            _ => write!(formatter, "({})", names.join(" or ")),
        }
    }
}
