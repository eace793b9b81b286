//! How it stands with the trust in the program, object by object.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use kubewright_certificates::{Identity, TrustBundle};
use kubewright_server::LiveIdentity;
use tokio::time::Instant;

use super::target::Target;

/// What is known of the objects that lead to the program. Clones show the same.
#[derive(Clone)]
pub(crate) struct Board(Arc<Shared>);

struct Shared {
    identity: OnceLock<LiveIdentity>,
    posts: Vec<Post>,
}

/// What is known of one object.
struct Post {
    target: Target,
    state: Mutex<State>,
    writes: AtomicU64,
}

#[derive(Default)]
struct State {
    seen: Seen,
    says_what_is_wanted: bool,
    /// It had said what is wanted, and then it did not, since somebody has asked last.
    was_lost: bool,
    belief: Belief,
}

/// Whether an object has the program believed.
#[derive(Clone, Copy, Debug, Default)]
enum Belief {
    #[default]
    NotYet,
    Holds,
    LostSince(Instant),
}

/// What others overwrite is put back in less time than this, as a rule. Until then a replica stays ready: the others have lost it,
/// too, and without any of them calls through the other objects would fail as well.
const GRACE: Duration = Duration::from_secs(5);

/// What was last seen of an object.
#[derive(Debug, Default)]
pub(crate) enum Seen {
    #[default]
    Nothing,
    /// There is none: nobody is led anywhere by it.
    Absent,
    /// It is there, and the program is known by these bundles.
    Known(Vec<TrustBundle>),
}

/// How it stands with one object that is there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) object: String,
    pub(crate) is_in_sync: bool,
    pub(crate) writes: u64,
}

impl Board {
    pub(crate) fn of(targets: Vec<Target>) -> Self {
        let post = |target| Post {
            target,
            state: Mutex::default(),
            writes: AtomicU64::new(0),
        };
        Self(Arc::new(Shared {
            identity: OnceLock::new(),
            posts: targets.into_iter().map(post).collect(),
        }))
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.0.posts.iter().map(|post| &post.target)
    }

    /// Goes by what the server proves from now on.
    pub(crate) fn serves(&self, identity: LiveIdentity) {
        // There is one server.
        drop(self.0.identity.set(identity));
    }

    /// Whether whoever goes by these bundles believes what the server proves.
    pub(crate) fn is_believed_by(&self, bundles: &[TrustBundle]) -> bool {
        let identity = self.0.identity.get();
        identity.is_some_and(|identity| believe(bundles, &identity.current(), SystemTime::now()))
    }

    /// Whether everybody who is led here believes what the server proves, or has done so until a moment ago.
    pub(crate) fn is_believed(&self) -> bool {
        let mut states = self.0.posts.iter().map(Post::state);
        states.all(|mut state| match &state.seen {
            Seen::Nothing => false,
            Seen::Absent => true,
            Seen::Known(bundles) => {
                let is_believed = self.is_believed_by(bundles);
                state.belief = state.belief.now(is_believed, Instant::now());
                state.belief.is_enough(Instant::now())
            }
        })
    }

    /// How it stands with the objects that are there.
    pub(crate) fn standings(&self) -> Vec<Standing> {
        let posts = self.0.posts.iter();
        let standing = |post: &Post| {
            let state = post.state();
            let Seen::Known(_) = &state.seen else {
                return None;
            };
            Some(Standing {
                object: post.target.to_string(),
                is_in_sync: state.says_what_is_wanted,
                writes: post.writes.load(Ordering::Relaxed),
            })
        };
        posts.filter_map(standing).collect()
    }

    /// Takes down what was seen of an object, and whether it says what is wanted. `is_undone` says that it did before.
    pub(crate) fn saw(&self, target: &Target, seen: Seen, is_in_sync: bool, is_undone: bool) {
        let Some(post) = self.post(target) else {
            return;
        };
        let is_believed = matches!(&seen, Seen::Known(bundles) if self.is_believed_by(bundles));
        let mut state = post.state();
        if matches!(seen, Seen::Known(_)) {
            state.belief = state.belief.now(is_believed, Instant::now());
        }
        state.seen = seen;
        state.says_what_is_wanted = is_in_sync;
        state.was_lost |= is_undone;
    }

    pub(crate) fn wrote(&self, target: &Target) {
        if let Some(post) = self.post(target) {
            post.writes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether an object has lost what it had said, at any time since this was last asked.
    pub(crate) fn take_losses(&self) -> bool {
        let mut any = false;
        for post in &self.0.posts {
            any |= std::mem::take(&mut post.state().was_lost);
        }
        any
    }

    fn post(&self, target: &Target) -> Option<&Post> {
        self.0.posts.iter().find(|post| post.target == *target)
    }
}

impl Belief {
    fn now(self, is_believed: bool, now: Instant) -> Self {
        match self {
            _ if is_believed => Self::Holds,
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

impl Post {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether all of these believe an identity. Most of them are the same.
fn believe(bundles: &[TrustBundle], identity: &Identity, now: SystemTime) -> bool {
    let mut known: Vec<&TrustBundle> = Vec::new();
    bundles.iter().all(|bundle| {
        let is_known = known.contains(&bundle);
        known.push(bundle);
        is_known || bundle.believes(identity, now)
    })
}

impl fmt::Debug for Board {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.standings()).finish()
    }
}
