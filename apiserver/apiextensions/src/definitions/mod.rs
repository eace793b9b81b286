//! The life of definitions: what a real server's controllers do once a CustomResourceDefinition was written (spec section
//! D.1).
//!
//! They run within the request that writes a definition, one after the other, until none of them has anything to do: a
//! client that has its answer finds the definition established. Only the finalizer runs a moment later, as on a real
//! server: a client that deletes a definition and then watches it sees how it ends.

mod columns;
mod conditions;
mod defaults;
mod finalizer;
pub use finalizer::{check_preconditions, marked};
mod names;
mod strategy;
pub use strategy::CustomResourceDefinition;
mod validation;
mod write;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use kubewright_apimachinery::view::View;
use kubewright_registry::Resource;
use kubewright_storage::{At, OutOfRange, Store};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Duration;

use crate::custom::Definition;
use names::Parsed;
pub use write::Track;
use write::{Storage, TABLE};

/// What is known of the definitions of one server.
#[derive(Debug)]
pub struct Definitions {
    storage: Storage,
    known: Mutex<Known>,
    /// Whether the finalizer is about to run.
    finalizing: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    /// Every definition, by name.
    parsed: HashMap<String, Parsed>,
    /// Those that are served.
    served: HashMap<String, Served>,
}

struct Served {
    revision: u64,
    rules: Value,
    definition: Arc<Definition>,
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl Served {
    /// Lets watches end, unless only conditions have changed: then they go on under the next rules. None if they end.
    fn hand_over(&self, next: &Value) -> Option<(u64, watch::Sender<bool>)> {
        let Definition {
            replaced,
            cached_since,
            ..
        } = &*self.definition;
        if OF_OBJECTS.iter().all(|&at| self.rules[at] == next[at]) {
            return Some((*cached_since, replaced.clone()));
        }
        replaced.send_replace(true);
        None
    }
}

/// Whether a resource is that of the definitions.
pub fn are(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions"
}

impl Definitions {
    /// The controllers of the definitions in a store; what they define is added to what is served.
    pub fn new(store: Arc<Store>, served: Arc<kubewright_registry::Served>, track: Track) -> Self {
        Self {
            storage: Storage {
                store,
                served,
                track,
            },
            known: Mutex::default(),
            finalizing: AtomicBool::default(),
        }
    }

    /// Lets every definition come to rest, but for those that are being deleted, and serves what they define.
    pub fn settle(self: &Arc<Self>) {
        let mut known = self.known.lock();
        known.run(&self.storage, Known::step);
        if known.awaits_finalizer() {
            self.finalize_soon();
        }
    }

    /// Settles whenever another server, with which this one shares its store, has written a definition. Ends with the value.
    pub fn follow(self: &Arc<Self>) {
        let store = &self.storage.store;
        let mut written = store.watch(TABLE, store.revision());
        let definitions = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                // A log that no longer has all changes still says that there were some.
                if let Err(OutOfRange::TooOld { oldest }) = written.next().await {
                    written = written.anew(oldest);
                }
                let Some(definitions) = definitions.upgrade() else {
                    return;
                };
                definitions.settle();
            }
        });
    }

    /// The same, and takes the deletion of definitions as far as it goes.
    fn finalize(&self) {
        let mut known = self.known.lock();
        known.run(&self.storage, |known, storage| {
            known.step(storage) || known.finalize_one(storage)
        });
    }

    /// Runs the finalizer a moment from now, unless it is about to run already.
    fn finalize_soon(self: &Arc<Self>) {
        /// A real server takes 10 to 50 milliseconds.
        const MOMENT: Duration = Duration::from_millis(20);
        if self.finalizing.swap(true, Ordering::AcqRel) {
            return;
        }
        let pending = Pending(Arc::downgrade(self));
        tokio::spawn(async move {
            tokio::time::sleep(MOMENT).await;
            let definitions = pending.0.upgrade();
            // What is written from now on needs another run.
            drop(pending);
            if let Some(definitions) = definitions {
                definitions.storage.store.write_latency().await;
                definitions.finalize();
            }
        });
    }
}

/// A run of the finalizer to come. It is forgotten with the runtime that it was to run on.
struct Pending(Weak<Definitions>);

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(definitions) = self.0.upgrade() {
            definitions.finalizing.store(false, Ordering::Release);
        }
    }
}

impl Known {
    /// Runs controllers until none of them has anything to do. The holder of the lock is the only controller that runs.
    fn run(&mut self, storage: &Storage, step: impl Fn(&Self, &Storage) -> bool) {
        loop {
            self.look(storage);
            self.serve(storage);
            if !step(self, storage) {
                return;
            }
        }
    }

    fn awaits_finalizer(&self) -> bool {
        let mut all = self.parsed.values();
        all.any(|parsed| finalizer::is_awaited(&parsed.value))
    }

    /// Reads the definitions that were written since the last look.
    fn look(&mut self, storage: &Storage) {
        let listed = storage.store.list(TABLE, "", "", usize::MAX, At::Now);
        let mut before = std::mem::take(&mut self.parsed);
        for stored in listed.map(|listed| listed.objects).unwrap_or_default() {
            let name = stored.name().to_owned();
            let same = before.remove(&name);
            let same = same.filter(|same| same.stored.revision == stored.revision);
            let parsed = same.unwrap_or_else(|| Parsed {
                value: Arc::new(stored.value()),
                stored,
            });
            self.parsed.insert(name, parsed);
        }
    }

    /// Lets one controller write once; false if no controller has anything to write.
    fn step(&self, storage: &Storage) -> bool {
        self.parsed.values().any(|Parsed { stored, value }| {
            names::accept(storage, stored, value, &self.parsed)
                || conditions::establish(storage, stored, value)
                || conditions::approve(storage, stored, value)
        })
    }

    /// Lets the finalizer write once; false if it waits for the finalizers of objects.
    fn finalize_one(&self, storage: &Storage) -> bool {
        let mut all = self.parsed.values();
        all.any(|Parsed { stored, value }| finalizer::finish(storage, stored, value))
    }

    /// Updates the registry with the resources that the definitions define now.
    fn serve(&mut self, storage: &Storage) {
        let count = self.served.len();
        self.served.retain(|name, served| {
            let parsed = self.parsed.get(name);
            let stays = parsed.is_some_and(|parsed| is_served(&parsed.value));
            if !stays {
                served.definition.replaced.send_replace(true);
            }
            stays
        });
        let mut changed = self.served.len() != count;
        for (name, Parsed { stored, value }) in &self.parsed {
            if !is_served(value) {
                continue;
            }
            let revision = stored.revision;
            match self.served.get_mut(name) {
                Some(served) if served.revision == revision => {}
                Some(served) if served.rules == rules(value) => served.revision = revision,
                before => {
                    changed = true;
                    let rules = rules(value);
                    let since = storage.store.revision();
                    let kept = before.and_then(|before| before.hand_over(&rules));
                    let (cached_since, replaced) =
                        kept.unwrap_or_else(|| (since, watch::Sender::new(false)));
                    let served = Served {
                        revision,
                        rules,
                        definition: Arc::new(Definition::read(
                            value,
                            since,
                            cached_since,
                            replaced,
                        )),
                    };
                    self.served.insert(name.clone(), served);
                }
            }
        }
        if changed {
            let served = self.served.values();
            let resources: Vec<Resource> = served
                .flat_map(|served| served.definition.resources())
                .collect();
            storage.served.extend(|builtin| builtin.with(resources));
        }
    }
}

/// Whether a definition has paths: its names are its own, or were so once.
fn is_served(definition: &Value) -> bool {
    conditions::is_true(definition, "NamesAccepted")
        || conditions::is_true(definition, "Established")
}

/// Which of the rules of a definition its objects are read and shown by: those before the conditions.
const OF_OBJECTS: [usize; 3] = [0, 1, 2];

/// What of a definition decides how its objects are served.
fn rules(definition: &Value) -> Value {
    let status = definition.at("status");
    Value::from(vec![
        definition.at("metadata").at("uid").clone(),
        definition.at("spec").clone(),
        status.at("acceptedNames").clone(),
        conditions::is_true(definition, "Terminating").into(),
        conditions::is_true(definition, "Established").into(),
    ])
}
