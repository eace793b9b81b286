//! Status of the trust in the program, object by object.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use kubewright_certificates::{Identity, TrustBundle};
use kubewright_server::LiveIdentity;
use tokio::time::Instant;

use super::target::Target;

/// Trust status of the objects that lead API servers to the program. Clones share it.
#[derive(Clone)]
pub(crate) struct TrustStatus(Arc<Shared>);

struct Shared {
    identity: OnceLock<LiveIdentity>,
    targets: Vec<TargetStatus>,
}

/// Trust status of one object.
struct TargetStatus {
    target: Target,
    state: Mutex<State>,
    writes: AtomicU64,
}

#[derive(Default)]
struct State {
    seen: Seen,
    is_in_sync: bool,
    /// The object was in sync and then no longer, since the last [`TrustStatus::take_losses`].
    was_lost: bool,
    verification: Verification,
}

/// Whether the bundles of an object verify the certificate of the program.
#[derive(Clone, Copy, Debug, Default)]
enum Verification {
    #[default]
    NotYet,
    Holds,
    LostSince(Instant),
}

/// Overwritten bundles are restored in less time than this, as a rule. Until then a replica stays ready: the other replicas have
/// lost the same bundle, and without any of them calls through the other objects would fail as well.
const GRACE: Duration = Duration::from_secs(5);

/// What was last seen of an object.
#[derive(Debug, Default)]
pub(crate) enum Seen {
    #[default]
    Nothing,
    /// The object does not exist.
    Absent,
    /// The object exists, with these bundles.
    Known(Vec<TrustBundle>),
}

/// Condition of one object that exists.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) object: String,
    pub(crate) is_in_sync: bool,
    pub(crate) writes: u64,
}

impl TrustStatus {
    pub(crate) fn of(targets: Vec<Target>) -> Self {
        let target_status = |target| TargetStatus {
            target,
            state: Mutex::default(),
            writes: AtomicU64::new(0),
        };
        Self(Arc::new(Shared {
            identity: OnceLock::new(),
            targets: targets.into_iter().map(target_status).collect(),
        }))
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.0
            .targets
            .iter()
            .map(|target_status| &target_status.target)
    }

    /// Sets the certificate that the server shows from now on.
    pub(crate) fn serves(&self, identity: LiveIdentity) {
        // There is one server.
        drop(self.0.identity.set(identity));
    }

    /// Returns whether these bundles verify the certificate of the server.
    pub(crate) fn is_verified_by(&self, bundles: &[TrustBundle]) -> bool {
        let identity = self.0.identity.get();
        identity.is_some_and(|identity| verify(bundles, &identity.current(), SystemTime::now()))
    }

    /// Returns whether the bundles of every object verify the certificate of the server, or have done so until a moment ago.
    pub(crate) fn is_verified(&self) -> bool {
        let mut states = self.0.targets.iter().map(TargetStatus::state);
        states.all(|mut state| match &state.seen {
            Seen::Nothing => false,
            Seen::Absent => true,
            Seen::Known(bundles) => {
                let is_verified = self.is_verified_by(bundles);
                state.verification = state.verification.now(is_verified, Instant::now());
                state.verification.is_enough(Instant::now())
            }
        })
    }

    /// Returns the conditions of the objects that exist.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let targets = self.0.targets.iter();
        let condition = |target_status: &TargetStatus| {
            let state = target_status.state();
            let Seen::Known(_) = &state.seen else {
                return None;
            };
            Some(Condition {
                object: target_status.target.to_string(),
                is_in_sync: state.is_in_sync,
                writes: target_status.writes.load(Ordering::Relaxed),
            })
        };
        targets.filter_map(condition).collect()
    }

    /// Takes in an object as it was seen, and whether it is in sync. `is_undone` says that it was in sync before.
    pub(crate) fn saw(&self, target: &Target, seen: Seen, is_in_sync: bool, is_undone: bool) {
        let Some(target_status) = self.target_status(target) else {
            return;
        };
        let is_verified = matches!(&seen, Seen::Known(bundles) if self.is_verified_by(bundles));
        let mut state = target_status.state();
        if matches!(seen, Seen::Known(_)) {
            state.verification = state.verification.now(is_verified, Instant::now());
        }
        state.seen = seen;
        state.is_in_sync = is_in_sync;
        state.was_lost |= is_undone;
    }

    pub(crate) fn wrote(&self, target: &Target) {
        if let Some(target_status) = self.target_status(target) {
            target_status.writes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns whether an object has lost trusted CAs since the last call.
    pub(crate) fn take_losses(&self) -> bool {
        let mut any = false;
        for target_status in &self.0.targets {
            any |= std::mem::take(&mut target_status.state().was_lost);
        }
        any
    }

    fn target_status(&self, target: &Target) -> Option<&TargetStatus> {
        self.0
            .targets
            .iter()
            .find(|target_status| target_status.target == *target)
    }
}

impl Verification {
    fn now(self, is_verified: bool, now: Instant) -> Self {
        match self {
            _ if is_verified => Self::Holds,
            Self::Holds => Self::LostSince(now),
            other => other,
        }
    }

    fn is_enough(self, now: Instant) -> bool {
        match self {
            Self::NotYet => false,
            Self::Holds => true,
            Self::LostSince(lost) => now.duration_since(lost) < GRACE,
        }
    }
}

impl TargetStatus {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether all bundles verify an identity. Most of them are the same.
fn verify(bundles: &[TrustBundle], identity: &Identity, now: SystemTime) -> bool {
    let mut known: Vec<&TrustBundle> = Vec::new();
    bundles.iter().all(|bundle| {
        let is_known = known.contains(&bundle);
        known.push(bundle);
        is_known || bundle.verifies(identity, now)
    })
}

impl fmt::Debug for TrustStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.conditions()).finish()
    }
}
