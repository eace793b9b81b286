//! `/metrics`: the counters of the server, and how many objects it stores.

use std::collections::BTreeMap;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use kubewright_registry::{Registry, Verb};
use kubewright_storage::{At, Store};
use serde_json::Value;

use crate::body::Body;
use crate::metrics::Stored;
use crate::rest::call::table_of;
use crate::rest::shared::Shared;

/// Returns the metrics of a server that is of this version.
pub(super) fn answer(shared: &Shared, registry: &Registry, version: &Value) -> Response<Body> {
    let stored = stored(&shared.store, registry);
    let text = shared.metrics.text(&stored, version);
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    let form = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

fn stored(store: &Store, registry: &Registry) -> Vec<Stored> {
    let watched = registry
        .all()
        .filter(|resource| resource.allows(Verb::Watch));
    // A resource is stored once, in however many versions it is served; what cannot be watched is not stored.
    let tables: BTreeMap<_, _> = watched
        .map(|resource| (table_of(resource), resource))
        .collect();
    let mut stored: Vec<Stored> = tables
        .into_iter()
        .map(|(table, resource)| {
            let listed = store.list(&table, "", "", 1, At::Now);
            let count = listed.map(|listed| listed.objects.len() + listed.remaining);
            Stored {
                group: resource.group.clone(),
                resource: resource.plural.clone(),
                count: count.unwrap_or_default() as u64,
            }
        })
        .collect();
    stored.sort();
    stored
}
