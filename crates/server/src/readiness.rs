//! Whether calls should be sent here: named conditions that all have to hold.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Whether calls should be sent to this process. Clones share the same conditions.
///
/// A server adds its own: it serves and is not asked to stop, its certificate has not expired, and it has refused no
/// connection for five seconds. A program adds what it needs on top, such as caches that have synced.
#[derive(Clone, Default)]
pub struct Readiness {
    checks: Arc<RwLock<Vec<Check>>>,
}

struct Check {
    name: String,
    holds: Box<dyn Fn() -> bool + Send + Sync>,
}

/// One condition of a [`Readiness`]. It does not hold until it is met.
#[derive(Clone, Debug)]
pub struct Condition {
    holds: Arc<AtomicBool>,
}

impl Readiness {
    /// Adds a condition that does not hold yet.
    pub fn condition(&self, name: impl Into<String>) -> Condition {
        let holds = Arc::new(AtomicBool::new(false));
        let condition = Condition {
            holds: Arc::clone(&holds),
        };
        self.check(name, move || holds.load(Ordering::Acquire));
        condition
    }

    /// Adds a condition that is looked up whenever somebody asks.
    pub fn check(&self, name: impl Into<String>, holds: impl Fn() -> bool + Send + Sync + 'static) {
        let check = Check {
            name: name.into(),
            holds: Box::new(holds),
        };
        self.checks
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .push(check);
    }

    /// Whether every condition holds.
    pub fn is_ready(&self) -> bool {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks.iter().all(|check| (check.holds)())
    }

    /// Every condition's name and whether it holds, in the order in which they were added.
    pub fn conditions(&self) -> Vec<(String, bool)> {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks
            .iter()
            .map(|check| (check.name.clone(), (check.holds)()))
            .collect()
    }
}

impl Condition {
    /// Says whether the condition holds from now on.
    pub fn set(&self, holds: bool) {
        self.holds.store(holds, Ordering::Release);
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.conditions()).finish()
    }
}
