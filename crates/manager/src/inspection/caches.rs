//! The caches of a program, its leader election and its configuration.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kubewright_controller::{CacheState, Informers, LeaderGuard, ObservedLease};
use serde_json::{Value, json};

use super::Inspection;
use super::moment::Moment;
use crate::configuration::State;

impl Inspection {
    pub(super) fn caches(&self, informers: Informers) {
        self.section("caches", move |now| {
            let caches = informers.caches();
            caches.iter().map(|state| cache(state, now)).collect()
        });
    }

    pub(super) fn leadership(
        &self,
        lease: String,
        identity: String,
        guard: LeaderGuard,
        observed: ObservedLease,
    ) {
        self.section("leadership", move |_| {
            json!({
                "lease": lease,
                "identity": identity,
                "isLeader": guard.is_leader(),
                "holder": observed.holder(),
                "transitions": observed.transitions(),
            })
        });
    }

    pub(super) fn configuration(&self, sources: Vec<Arc<State>>) {
        if sources.is_empty() {
            return;
        }
        self.section("configuration", move |_| {
            let source = |state: &Arc<State>| {
                json!({
                    "place": state.place,
                    "isGood": state.is_good.load(Ordering::Relaxed),
                    "used": state.used.load(Ordering::Relaxed),
                    "refused": state.refused.load(Ordering::Relaxed),
                })
            };
            sources.iter().map(source).collect()
        });
    }
}

fn cache(state: &CacheState, now: &Moment) -> Value {
    json!({
        "kind": state.kind.to_string(),
        "apiVersion": state.kind.api_version(),
        "scope": state.scope.to_string(),
        "objects": state.follows.objects,
        "bytes": state.bytes,
        "synced": state.is_synced,
        "served": state.is_served,
        "required": state.is_required,
        "lists": state.follows.lists,
        "watches": state.follows.watches,
        "failures": state.follows.failures,
        "lastEvent": state.last_event.map(|passed| now.ago(passed)),
        "resourceVersion": state.resource_version.map(|version| version.to_string()),
    })
}
