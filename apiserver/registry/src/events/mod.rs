//! Events of the core group and of the group events.k8s.io.

mod conversion;
mod event;
mod validation;

use std::sync::Arc;

use crate::strategy::Strategy;
use event::Event;

/// Returns the strategy of a kind of either group.
pub(crate) fn strategy(group: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    let is_core = group.is_empty();
    (kind == "Event").then(|| Arc::new(Event { is_core }) as _)
}
