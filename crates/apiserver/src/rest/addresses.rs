//! Cluster addresses and node ports of services: taken with the write, given back if it fails.

use parking_lot::Mutex;
use serde_json::Value;

use super::call::Call;
use crate::field::FieldError;
use crate::kinds::strategy::services::{Pool, allocate};

/// What a service took from the pool. Dropped without [`Allocation::keep`], everything is as it was before.
#[derive(Debug)]
pub(crate) struct Allocation<'a> {
    pool: &'a Mutex<Pool>,
    taken: Value,
    before: Option<Value>,
}

impl<'a> Allocation<'a> {
    /// Gives a service the addresses and ports that it needs; other kinds need none.
    pub(crate) fn take(
        call: &'a Call,
        new: &mut Value,
        old: Option<&Value>,
    ) -> (Option<Self>, Vec<FieldError>) {
        if !is_about_services(call) {
            return (None, Vec::new());
        }
        let mut pool = call.shared.addresses.lock();
        // A failed allocation may have taken some of what it wanted: only a whole one counts.
        let mut tried = pool.clone();
        let errors = allocate(new, old, &mut tried);
        if !errors.is_empty() {
            return (None, errors);
        }
        *pool = tried;
        drop(pool);
        let allocation = Self {
            pool: &call.shared.addresses,
            taken: new.clone(),
            before: old.cloned(),
        };
        (Some(allocation), errors)
    }

    /// The service was written: it has what it took.
    pub(crate) fn keep(mut self) {
        self.taken = Value::Null;
        self.before = None;
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        if self.taken.is_null() {
            return;
        }
        let mut pool = self.pool.lock();
        pool.release(&self.taken);
        if let Some(before) = &self.before {
            pool.adopt(before);
        }
    }
}

/// Gives back what a deleted object had.
pub(crate) fn release(call: &Call, object: &Value) {
    if is_about_services(call) {
        call.shared.addresses.lock().release(object);
    }
}

fn is_about_services(call: &Call) -> bool {
    call.resource.group.is_empty()
        && call.resource.plural == "services"
        && call.path.subresource.is_empty()
}
