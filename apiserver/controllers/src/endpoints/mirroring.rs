//! The controller that mirrors Endpoints into EndpointSlices, where the Service selects no pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::super::client::{ENDPOINT_SLICES, Failure, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, map, text};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::addresses::{Family, parsed};
use super::placement::{Changes, Wanted};
use super::ports::PortKey;
use super::slice::{self, MANAGED_BY, SERVICE_NAME, are_equal, identity};
use super::subsets::repacked;
use super::trigger_time;

/// The controller that mirrors Endpoints.
#[derive(Debug)]
pub(crate) struct Mirroring;

/// The slices of one family and one set of ports.
#[derive(Debug, Default)]
struct Group {
    ports: Vec<Value>,
    wanted: Wanted,
    existing: Vec<Value>,
}

/// The addresses that are not mirrored.
#[derive(Debug, Default)]
struct Skipped {
    invalid: usize,
    all: usize,
}

type Groups = BTreeMap<(String, Vec<PortKey>), Group>;

const NAME: &str = "endpointslicemirroring-controller";
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The most addresses of a subset that are mirrored.
const MOST: usize = 1000;

impl Controller for Mirroring {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        let Some(item) = change.item() else {
            return;
        };
        let table = Arc::from("endpoints");
        match &*item.table {
            "endpoints" => keys.add(item),
            "services" => {
                let states = [&change.before, &change.after].map(|state| {
                    let service = state.as_ref();
                    service.map(|service| service.selector.is_none())
                });
                if states[0] != states[1] && states.contains(&Some(true)) {
                    keys.add_path(&table, item.object.path.clone());
                }
            }
            slice::TABLE => {
                for slice in [&change.before, &change.after].into_iter().flatten() {
                    if let Some(service) = slice::service_of(slice, MANAGER) {
                        keys.add_path(&table, format!("{}/{service}", slice.namespace()));
                    }
                }
            }
            _ => {}
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some((namespace, name)) = key.path.split_once('/') else {
                return Ok(Next::Done);
            };
            let existing = existing(cx, namespace, name);
            let service = cx.look(|graph| graph.get("services", &key.path));
            let unselective = service.is_some_and(|service| service.selector.is_none());
            let endpoints = cx.item(key).filter(|_| unselective);
            let endpoints = endpoints.map(|endpoints| (endpoints.object.value(), endpoints));
            match endpoints.filter(|(object, _)| is_mirrored(object)) {
                Some((object, endpoints)) => mirror(cx, &endpoints, &object, existing).await?,
                None => {
                    for slice in &existing {
                        delete(cx, slice).await?;
                    }
                }
            }
            Ok(Next::Done)
        }
        .boxed()
    }
}

fn who() -> Who<'static> {
    Who::Controller(NAME)
}

fn is_mirrored(endpoints: &Value) -> bool {
    let metadata = &endpoints["metadata"];
    metadata["labels"][SKIP] != "true" && metadata["annotations"].get(LEADER).is_none()
}

fn existing(cx: &Context, namespace: &str, name: &str) -> Vec<Value> {
    let slices = cx.look(|graph| graph.list(slice::TABLE, namespace));
    slices
        .iter()
        .filter(|slice| slice::service_of(slice, MANAGER) == Some(name))
        .map(|slice| slice.object.value())
        .collect()
}

async fn mirror(
    cx: &Context,
    endpoints: &Item,
    object: &Value,
    existing: Vec<Value>,
) -> Result<(), Failure> {
    let mut groups = Groups::new();
    let skipped = wanted(object, &mut groups);
    tell(cx, object, &skipped).await;
    for slice in existing {
        let family = text(&slice, "/addressType").to_owned();
        let key = (family, slice::port_keys(list(&slice, "/ports")));
        groups.entry(key).or_default().existing.push(slice);
    }
    let mut changes = Changes::default();
    for ((family, _), group) in groups {
        changes.append(group.changes(object, &family));
    }
    recycle(&mut changes);
    if !endpoints.is_deleting() {
        for slice in &changes.create {
            let namespace = endpoints.namespace();
            match cx
                .client
                .create(who(), &ENDPOINT_SLICES, namespace, slice)
                .await
            {
                Err(failure) if failure.is_for_terminating_namespace() => return Ok(()),
                answer => drop(answer?),
            }
        }
    }
    for slice in &changes.update {
        cx.client.update(who(), &ENDPOINT_SLICES, slice).await?;
    }
    for slice in &changes.delete {
        delete(cx, slice).await?;
    }
    Ok(())
}

/// Groups the addresses of Endpoints by family and ports.
fn wanted(object: &Value, groups: &mut Groups) -> Skipped {
    let mut skipped = Skipped::default();
    for subset in repacked(list(object, "/subsets")) {
        let ports: Vec<Value> = list(&subset, "/ports").iter().map(port).collect();
        let keys = slice::port_keys(&ports);
        let ready = list(&subset, "/addresses").iter().map(|own| (own, true));
        let unready = list(&subset, "/notReadyAddresses").iter();
        let addresses: Vec<_> = ready.chain(unready.map(|own| (own, false))).collect();
        let mut taken = 0;
        for (address, ready) in &addresses {
            if taken == MOST {
                break;
            }
            let Some(ip) = parsed(text(address, "/ip")) else {
                skipped.invalid += 1;
                continue;
            };
            taken += 1;
            let endpoint = endpoint(address, &ip.to_string(), *ready);
            let key = (Family::of(ip).text().to_owned(), keys.clone());
            let group = groups.entry(key).or_default();
            group.ports.clone_from(&ports);
            group.wanted.insert(identity(&endpoint), endpoint);
        }
        skipped.all += addresses.len() - taken;
    }
    skipped
}

async fn tell(cx: &Context, endpoints: &Value, skipped: &Skipped) {
    let Skipped { invalid, all } = skipped;
    if *invalid > 0 {
        let message =
            format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
        let reason = "InvalidIPAddress";
        cx.tell(NAME, endpoints, Kind::Warning, reason, &message)
            .await;
    }
    if all > invalid {
        let message = format!(
            "A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints subset. {all} addresses were skipped"
        );
        let reason = "TooManyAddressesToMirror";
        cx.tell(NAME, endpoints, Kind::Warning, reason, &message)
            .await;
    }
}

impl Group {
    fn changes(self, endpoints: &Value, family: &str) -> Changes {
        let mut changes = Changes::default();
        let mut existing = self.existing.into_iter();
        if self.wanted.is_empty() {
            changes.delete.extend(existing);
            return changes;
        }
        let first = existing.next();
        changes.delete.extend(existing);
        if let Some(slice) = &first
            && is_current(slice, endpoints, &self.wanted)
        {
            return changes;
        }
        let mut slice = slice::empty(endpoints, &labels(endpoints), family, &self.ports);
        slice["metadata"]["annotations"] = annotations(endpoints).into();
        slice["endpoints"] = self.wanted.into_values().collect();
        match first {
            Some(first) => {
                renamed(&mut slice, &first);
                changes.update.push(slice);
            }
            None => changes.create.push(slice),
        }
        changes
    }
}

/// Whether a slice shows the endpoints, labels and annotations already, and is owned by these very Endpoints.
fn is_current(slice: &Value, endpoints: &Value, wanted: &Wanted) -> bool {
    let stored = list(slice, "/endpoints");
    let same = stored.len() == wanted.len()
        && stored.iter().all(|endpoint| {
            let wanted = wanted.get(&identity(endpoint));
            wanted.is_some_and(|wanted| are_equal(wanted, endpoint))
        });
    let owners = list(slice, "/metadata/ownerReferences");
    let is_of_another = owners.iter().any(|owner| {
        owner["kind"] == "Endpoints"
            && owner["name"] == endpoints["metadata"]["name"]
            && owner["uid"] != endpoints["metadata"]["uid"]
    });
    same && !is_of_another
        && map(slice, "/metadata/labels") == labels(endpoints)
        && map(slice, "/metadata/annotations") == annotations(endpoints)
}

fn labels(endpoints: &Value) -> Map<String, Value> {
    let mut labels = map(endpoints, "/metadata/labels");
    labels.insert(
        SERVICE_NAME.to_owned(),
        endpoints["metadata"]["name"].clone(),
    );
    labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
    labels
}

fn annotations(endpoints: &Value) -> Map<String, Value> {
    let mut annotations = map(endpoints, "/metadata/annotations");
    annotations.retain(|key, _| key != trigger_time::ANNOTATION && key != LAST_APPLIED);
    annotations
}

fn port(port: &Value) -> Value {
    let mut shown = port.clone();
    if shown.get("name").is_none() {
        shown["name"] = "".into();
    }
    shown
}

fn endpoint(address: &Value, ip: &str, ready: bool) -> Value {
    let mut endpoint = json!({"addresses": [ip], "conditions": {"ready": ready}});
    for field in ["targetRef", "nodeName", "hostname"] {
        if let Some(value) = address.get(field) {
            endpoint[field] = value.clone();
        }
    }
    endpoint
}

/// Writes slices that are to be made in the place of those of the same family that are to be deleted.
fn recycle(changes: &mut Changes) {
    for mut slice in std::mem::take(&mut changes.create) {
        let family = &slice["addressType"];
        let old = changes
            .delete
            .iter()
            .position(|old| old["addressType"] == *family);
        match old {
            Some(old) => {
                renamed(&mut slice, &changes.delete.remove(old));
                changes.update.push(slice);
            }
            None => changes.create.push(slice),
        }
    }
}

fn renamed(slice: &mut Value, old: &Value) {
    slice["metadata"]["name"] = old["metadata"]["name"].clone();
}

async fn delete(cx: &Context, slice: &Value) -> Result<(), Failure> {
    let [namespace, name] = ["/metadata/namespace", "/metadata/name"].map(|at| text(slice, at));
    let path = ENDPOINT_SLICES.path(namespace, name);
    cx.client.delete(who(), &path, &json!({})).await
}
