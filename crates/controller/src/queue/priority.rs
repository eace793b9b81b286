//! How urgent work is.

/// How urgent work is: what is higher comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Priority(pub(crate) i32);

impl Priority {
    /// The object has just changed.
    pub(crate) const NORMAL: Self = Self(0);
    /// Not urgent: objects of the first list, and requeues after a delay.
    pub(crate) const LOW: Self = Self(-100);

    /// That of work of this urgency on an object to which the user gives a priority.
    pub(crate) fn of(self, object: i32) -> Self {
        Self(self.0.saturating_add(object))
    }
}
