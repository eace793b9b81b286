//! Volumes: claims are bound to volumes, volumes are made for claims, and neither goes while it is used.

mod binder;
mod objects;
mod protection;
mod provisioner;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::graph::{Change, Graph};
use super::object::text;
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use objects::{ATTRIBUTES, CLAIMS, CLASSES, VOLUMES, claim_of, claim_path, volume_of};
use parking_lot::Mutex;

/// The controllers of PersistentVolumes and of their claims.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    /// Claims without a volume, and those that are being deleted, which is the value: other objects decide over them.
    waiting: Mutex<BTreeMap<(Arc<str>, String), bool>>,
    index: Mutex<Index>,
}

/// The volumes by what they are for.
#[derive(Debug, Default)]
struct Index {
    /// The names of volumes without a claim.
    free: BTreeSet<String>,
    /// The names of volumes that name a claim, by the path of the claim.
    by_claim: BTreeMap<String, String>,
}

impl Index {
    /// Takes over a change of a volume; returns whether the volume is free now.
    fn follow(&mut self, change: &Change) -> bool {
        if let Some(volume) = &change.before {
            self.free.remove(volume.name());
            self.by_claim.retain(|_, name| name != volume.name());
        }
        let Some(volume) = &change.after else {
            return false;
        };
        let object = volume.object.value();
        let name = volume.name().to_owned();
        match claim_path(&object) {
            Some(claim) => {
                self.by_claim.insert(claim, name);
                false
            }
            None => self.free.insert(name),
        }
    }

    /// The volumes that a claim may be bound to.
    fn candidates(&self, claim: &str) -> Vec<String> {
        match self.by_claim.get(claim) {
            Some(named) => vec![named.clone()],
            None => self.free.iter().cloned().collect(),
        }
    }
}

impl Controller for Volumes {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(ATTRIBUTES) {
            if let Some(class) = change.after.as_ref().filter(|class| class.is_deleting()) {
                keys.add(class);
            }
        } else if change.is_in(CLAIMS) || change.is_in(VOLUMES) {
            for class in graph.list(ATTRIBUTES, "") {
                if class.is_deleting() {
                    keys.add(&class);
                }
            }
        }
        if change.is_in(CLAIMS) {
            let Some(claim) = change.item() else {
                return;
            };
            let place = (claim.table.clone(), claim.object.path.clone());
            let mut waiting = self.waiting.lock();
            waiting.remove(&place);
            if let Some(claim) = &change.after {
                let bound = text(&claim.object.value(), "/status/phase") == "Bound";
                if !bound || claim.is_deleting() {
                    waiting.insert(place, claim.is_deleting());
                }
                keys.add(claim);
            }
            drop(waiting);
            // Its volume is released with it.
            if let Some(volume) = volume_of(&claim.object.value(), graph) {
                keys.add(&volume);
            }
        } else if change.is_in(VOLUMES) || change.is_in(CLASSES) {
            if change.is_in(VOLUMES) {
                change.after.iter().for_each(|volume| keys.add(volume));
                for volume in [&change.before, &change.after].into_iter().flatten() {
                    if let Some(claim) = claim_of(&volume.object.value(), graph) {
                        keys.add(&claim);
                    }
                }
            }
            let free = !change.is_in(VOLUMES) || self.index.lock().follow(change);
            if free {
                self.wake(keys, |_, deleting| !deleting);
            }
        } else if change.is_in("pods")
            && let Some(pod) = change.item()
        {
            let prefix = format!("{}/", pod.namespace());
            self.wake(keys, |path, deleting| deleting && path.starts_with(&prefix));
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(item) = cx.item(key) else {
                return Ok(Next::Done);
            };
            if &*item.table == ATTRIBUTES {
                protection::release_attributes(cx, &item).await?;
                Ok(Next::Done)
            } else if &*item.table == CLAIMS {
                if item.is_deleting() {
                    protection::release_claim(cx, &item).await?;
                    return Ok(Next::Done);
                }
                let candidates = self.index.lock().candidates(&item.object.path);
                binder::claim(cx, &item, candidates).await
            } else {
                if item.is_deleting() {
                    protection::release_volume(cx, &item).await?;
                }
                binder::volume(cx, &item).await
            }
        }
        .boxed()
    }
}

impl Volumes {
    /// Adds waiting claims, by their path and whether they are being deleted.
    fn wake(&self, keys: &mut Keys<'_>, which: impl Fn(&str, bool) -> bool) {
        for ((table, path), deleting) in self.waiting.lock().iter() {
            if which(path, *deleting) {
                keys.add_path(table, path.clone());
            }
        }
    }
}
