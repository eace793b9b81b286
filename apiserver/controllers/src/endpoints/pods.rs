//! The pods behind a Service, and the Services in front of a pod.

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::graph::{Change, Graph};
use super::super::object::Item;
use super::super::work::{Context, Keys};
use super::addresses::parsed;

/// The pods that a Service selects, endpoints or not.
pub(super) fn selected(cx: &Context, service: &Item) -> Vec<Arc<Item>> {
    let mut pods = cx.look(|graph| graph.list("pods", service.namespace()));
    pods.retain(|pod| selects(service, pod));
    pods
}

/// Adds the Services whose endpoints the change of a pod concerns.
pub(super) fn concern_services(change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
    let Some(pod) = change.item() else {
        return;
    };
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && shows_the_same(before, after)
    {
        return;
    }
    for service in graph.list("services", pod.namespace()) {
        let states = [&change.before, &change.after];
        if states
            .into_iter()
            .flatten()
            .any(|pod| selects(&service, pod))
        {
            keys.add(&service);
        }
    }
}

/// Whether a pod can be an endpoint: it has an address and has not finished.
pub(super) fn has_endpoint(pod: &Item) -> bool {
    !pod.has_finished() && !pod.pod.addresses.is_empty()
}

/// The addresses of a pod.
pub(super) fn addresses(pod: &Item) -> impl Iterator<Item = IpAddr> {
    pod.pod.addresses.iter().filter_map(|own| parsed(own))
}

/// The pod as the target of an endpoint.
pub(super) fn target(pod: &Item) -> Value {
    json!({
        "kind": "Pod",
        "namespace": pod.namespace(),
        "name": pod.name(),
        "uid": pod.meta.uid,
    })
}

/// The host name of a pod in the domain of the Service.
pub(super) fn hostname<'a>(pod: &'a Item, service: &Item) -> Option<&'a str> {
    let facts = &pod.pod;
    (!facts.hostname.is_empty() && facts.subdomain == service.name()).then_some(&facts.hostname)
}

fn selects(service: &Item, pod: &Item) -> bool {
    let labels = pod.object.labels();
    service.selector.as_ref().is_some_and(|selector| {
        selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value.as_str()))
    })
}

/// Whether endpoints show nothing of what has changed.
fn shows_the_same(before: &Item, after: &Item) -> bool {
    let facts = |item: &Item| {
        let pod = &item.pod;
        (
            item.meta.uid.clone(),
            item.is_deleting(),
            item.has_finished(),
            pod.ready,
            pod.addresses.clone(),
            pod.hostname.clone(),
            pod.subdomain.clone(),
        )
    };
    facts(before) == facts(after) && before.object.labels() == after.object.labels()
}
