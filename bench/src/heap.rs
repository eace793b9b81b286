//! What the program has allocated, where it was built to count that.

use serde::{Deserialize, Serialize};

#[cfg(feature = "counted")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// What is allocated at a moment, and how often it has been.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Heap {
    pub(crate) bytes: usize,
    pub(crate) allocations: usize,
}

/// Whether this program counts.
pub(crate) const IS_COUNTED: bool = cfg!(feature = "counted");

/// The heap as it is now.
#[cfg(feature = "counted")]
pub(crate) fn now() -> Heap {
    let stats = stats_alloc::INSTRUMENTED_SYSTEM.stats();
    Heap {
        bytes: stats
            .bytes_allocated
            .saturating_sub(stats.bytes_deallocated),
        allocations: stats.allocations + stats.reallocations,
    }
}

/// The heap as it is now; nothing where it is not counted.
#[cfg(not(feature = "counted"))]
pub(crate) fn now() -> Heap {
    Heap::default()
}
