//! The clusters of a program at the moment, which metrics read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::member::Member;

/// All clusters at the moment. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Roster(Arc<Mutex<Vec<Arc<Member>>>>);

impl Roster {
    pub(crate) fn members(&self) -> Vec<Arc<Member>> {
        self.lock().clone()
    }

    pub(super) fn enter(&self, member: &Arc<Member>) {
        self.lock().push(Arc::clone(member));
    }

    pub(super) fn strike(&self, gone: Option<&Arc<Member>>) {
        self.lock()
            .retain(|member| !gone.is_some_and(|gone| Arc::ptr_eq(gone, member)));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Member>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
