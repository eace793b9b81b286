//! How it stands with the trust in the program, object by object.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use kubewright_certificates::{Identity, TrustBundle};
use kubewright_server::LiveIdentity;

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
}

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

    /// Whether everybody who is led here believes what the server proves.
    pub(crate) fn is_believed(&self) -> bool {
        let mut posts = self.0.posts.iter();
        posts.all(|post| match &post.state().seen {
            Seen::Nothing => false,
            Seen::Absent => true,
            Seen::Known(bundles) => self.is_believed_by(bundles),
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
        let mut state = post.state();
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
