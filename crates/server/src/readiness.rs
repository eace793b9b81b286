//! Whether calls should be sent here: named conditions that all have to hold.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The conditions under which a probe succeeds, such as that of readiness. Clones share the same conditions.
///
/// A server adds its own: it serves and is not shutting down, its certificate has not expired, and it has refused no
/// connection for five seconds. A program adds its own, such as caches that have synced.
///
/// ```
/// use kubewright_server::Readiness;
///
/// let readiness = Readiness::default();
/// let synced = readiness.condition("caches");
/// assert!(!readiness.is_ready());
/// synced.set(true);
/// assert!(readiness.is_ready());
/// ```
#[derive(Clone, Default)]
pub struct Readiness {
    checks: Arc<RwLock<Vec<Check>>>,
}

struct Check {
    name: String,
    holds: Box<dyn Fn() -> bool + Send + Sync>,
}

/// A condition of a [`Readiness`]. It is false until it is set.
///
/// ```
/// use kubewright_server::Readiness;
///
/// let readiness = Readiness::default();
/// let connected = readiness.condition("database");
/// connected.set(true);
/// connected.set(false); // The connection broke.
/// assert!(!readiness.is_ready());
/// ```
#[derive(Clone, Debug)]
pub struct Condition {
    holds: Arc<AtomicBool>,
}

impl Readiness {
    /// Adds a condition that is false until it is [set](Condition::set).
    ///
    /// ```
    /// use kubewright_server::Readiness;
    ///
    /// let readiness = Readiness::default();
    /// let synced = readiness.condition("caches");
    /// assert_eq!(readiness.conditions(), [("caches".to_owned(), false)]);
    /// # synced.set(true);
    /// ```
    pub fn condition(&self, name: impl Into<String>) -> Condition {
        let holds = Arc::new(AtomicBool::new(false));
        let condition = Condition {
            holds: Arc::clone(&holds),
        };
        self.check(name, move || holds.load(Ordering::Acquire));
        condition
    }

    /// Adds a condition that is evaluated for each probe. It has to be quick.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    /// use kubewright_server::Readiness;
    ///
    /// let queued = Arc::new(AtomicUsize::new(0));
    /// let counted = Arc::clone(&queued);
    /// let readiness = Readiness::default();
    /// readiness.check("queue", move || counted.load(Ordering::Relaxed) < 100);
    /// assert!(readiness.is_ready());
    /// queued.store(500, Ordering::Relaxed);
    /// assert!(!readiness.is_ready());
    /// ```
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

    /// Returns whether every condition holds.
    ///
    /// ```
    /// use kubewright_server::Readiness;
    ///
    /// let readiness = Readiness::default();
    /// assert!(readiness.is_ready(), "there is no condition");
    /// readiness.check("disk", || false);
    /// assert!(!readiness.is_ready());
    /// ```
    pub fn is_ready(&self) -> bool {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks.iter().all(|check| (check.holds)())
    }

    /// Returns every condition's name and whether it holds, in the order in which they were added.
    ///
    /// ```
    /// use kubewright_server::Readiness;
    ///
    /// let readiness = Readiness::default();
    /// readiness.check("disk", || true);
    /// readiness.check("caches", || false);
    /// let failed: Vec<_> = readiness.conditions().into_iter().filter(|(_, holds)| !holds).collect();
    /// assert_eq!(failed, [("caches".to_owned(), false)]);
    /// ```
    pub fn conditions(&self) -> Vec<(String, bool)> {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks
            .iter()
            .map(|check| (check.name.clone(), (check.holds)()))
            .collect()
    }
}

impl Condition {
    /// Sets whether the condition holds from now on.
    ///
    /// ```
    /// use kubewright_server::Readiness;
    ///
    /// let readiness = Readiness::default();
    /// readiness.condition("caches").set(true);
    /// assert_eq!(readiness.conditions(), [("caches".to_owned(), true)]);
    /// ```
    pub fn set(&self, holds: bool) {
        self.holds.store(holds, Ordering::Release);
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.conditions()).finish()
    }
}
