//! The controller of EndpointSlices: the pods behind each Service, by address family and ports, a hundred to a slice.

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
use super::addresses::{Family, families};
use super::hints::Distribution;
use super::placement::{Changes, Wanted, place};
use super::ports::{self, PortKey};
use super::trigger_time::{ANNOTATION, TriggerTimes};
use super::{pods, slice};

/// The controller of EndpointSlices.
#[derive(Debug, Default)]
pub(crate) struct EndpointSlices {
    times: TriggerTimes,
}

/// The pods behind a Service, and the slices that there are for them.
#[derive(Debug)]
struct Setting<'a> {
    service: &'a Item,
    object: &'a Value,
    pods: &'a [Arc<Item>],
    labels: Map<String, Value>,
}

/// What the Service has at one set of ports.
#[derive(Debug, Default)]
struct Group {
    ports: Vec<Value>,
    wanted: Wanted,
    existing: Vec<Value>,
    is_wanted: bool,
}

const NAME: &str = "endpointslice-controller";
const MANAGER: &str = "endpointslice-controller.k8s.io";
const ZONE: &str = "topology.kubernetes.io/zone";

impl Controller for EndpointSlices {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        let Some(item) = change.item() else {
            return;
        };
        match &*item.table {
            "services" => keys.add(item),
            "pods" => pods::concern_services(change, graph, keys),
            slice::TABLE => {
                for slice in [&change.before, &change.after].into_iter().flatten() {
                    if let Some(service) = slice::service_of(slice, MANAGER) {
                        let path = format!("{}/{service}", slice.namespace());
                        keys.add_path(&Arc::from("services"), path);
                    }
                }
            }
            _ => {}
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(service) = cx.item(key) else {
                self.times.forget(&key.path);
                return Ok(Next::Done);
            };
            let object = service.object.value();
            if text(&object, "/spec/type") == "ExternalName" || service.selector.is_none() {
                return Ok(Next::Done);
            }
            let written = self.write(cx, &service, &object).await;
            if let Err(failure) = &written {
                let message = format!(
                    "Error updating Endpoint Slices for Service {}: {failure}",
                    key.path
                );
                let reason = "FailedToUpdateEndpointSlices";
                cx.tell(NAME, &object, Kind::Warning, reason, &message)
                    .await;
            }
            written.map(|()| Next::Done)
        }
        .boxed()
    }
}

impl EndpointSlices {
    async fn write(&self, cx: &Context, service: &Item, object: &Value) -> Result<(), Failure> {
        let pods = pods::selected(cx, service);
        let time = self.times.next(service, &pods);
        let mut slices: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for slice in existing(cx, service) {
            let family = text(&slice, "/addressType").to_owned();
            slices.entry(family).or_default().push(slice);
        }
        let setting = Setting {
            service,
            object,
            pods: &pods,
            labels: slice::labels_of_service(object, MANAGER),
        };
        let mut missing = Ok(());
        for family in families(object) {
            let existing = slices.remove(family.text()).unwrap_or_default();
            let (mut changes, outcome) = setting.changes(cx, family, existing);
            missing = missing.and(outcome);
            hint(Distribution::of(object), &mut changes);
            recycle(service, &mut changes);
            finish(cx, service, changes, time.as_deref()).await?;
        }
        // The Service no longer has addresses of these families.
        for slice in slices.into_values().flatten() {
            delete(cx, service, &slice).await?;
        }
        missing
    }
}

impl Setting<'_> {
    /// The changes of the slices of one family, and whether a pod is on a node that there is not.
    fn changes(
        &self,
        cx: &Context,
        family: Family,
        existing: Vec<Value>,
    ) -> (Changes, Result<(), Failure>) {
        let count = existing.len();
        let mut changes = Changes::default();
        let mut groups: BTreeMap<Vec<PortKey>, Group> = BTreeMap::new();
        for slice in existing {
            if slice::is_owned_by(&slice, self.service) {
                let group = groups.entry(slice::port_keys(list(&slice, "/ports")));
                group.or_default().existing.push(slice);
            } else {
                changes.delete.push(slice);
            }
        }
        let mut missing = Ok(());
        let publishes_all = self.object["spec"]["publishNotReadyAddresses"] == true;
        for pod in self.pods.iter().filter(|pod| pods::has_endpoint(pod)) {
            let ports = ports::ports(pod, self.object);
            let group = groups.entry(slice::port_keys(&ports)).or_default();
            group.ports = ports;
            group.is_wanted = true;
            let node = cx.look(|graph| graph.get("nodes", &pod.pod.node));
            if node.is_none() && !publishes_all {
                missing = Err(Failure::own(format!(
                    "skipping Pod {} for Service {}: Node {} Not Found",
                    pod.name(),
                    self.service.object.path,
                    pod.pod.node
                )));
                continue;
            }
            if let Some(endpoint) = self.endpoint(pod, node.as_deref(), family, publishes_all) {
                group.wanted.insert(slice::identity(&endpoint), endpoint);
            }
        }
        for group in groups.into_values() {
            if group.is_wanted {
                let empty = self.empty(family, &group.ports);
                changes.append(place(group.wanted, group.existing, &empty, &self.labels));
            } else {
                changes.delete.extend(group.existing);
            }
        }
        if changes.delete.len() == count && changes.create.is_empty() {
            self.keep_one(family, &mut changes);
        }
        (changes, missing)
    }

    /// A Service has a slice even when it has no endpoints.
    fn keep_one(&self, family: Family, changes: &mut Changes) {
        let placeholder = self.empty(family, &[]);
        if let [slice] = changes.delete.as_slice()
            && map(slice, "/metadata/labels") == self.labels
            && list(slice, "/endpoints").is_empty()
            && list(slice, "/ports").is_empty()
            && slice["metadata"]["ownerReferences"] == placeholder["metadata"]["ownerReferences"]
        {
            changes.unchanged.append(&mut changes.delete);
        } else {
            changes.create.push(placeholder);
        }
    }

    fn endpoint(
        &self,
        pod: &Item,
        node: Option<&Item>,
        family: Family,
        publishes_all: bool,
    ) -> Option<Value> {
        let addresses: Vec<Value> = pods::addresses(pod)
            .filter(|address| Family::of(*address) == family)
            .map(|address| address.to_string().into())
            .collect();
        if addresses.is_empty() {
            return None;
        }
        let (serving, terminating) = (pod.pod.ready, pod.is_deleting());
        let mut endpoint = Map::new();
        endpoint.insert("addresses".to_owned(), addresses.into());
        let conditions = json!({
            "ready": publishes_all || (serving && !terminating),
            "serving": serving,
            "terminating": terminating,
        });
        endpoint.insert("conditions".to_owned(), conditions);
        if let Some(hostname) = pods::hostname(pod, self.service) {
            endpoint.insert("hostname".to_owned(), hostname.into());
        }
        endpoint.insert("targetRef".to_owned(), pods::target(pod));
        if !pod.pod.node.is_empty() {
            endpoint.insert("nodeName".to_owned(), pod.pod.node.as_str().into());
        }
        let zone = node.and_then(|node| node.object.labels().get(ZONE));
        if let Some(zone) = zone.filter(|zone| !zone.is_empty()) {
            endpoint.insert("zone".to_owned(), zone.into());
        }
        Some(Value::Object(endpoint))
    }

    fn empty(&self, family: Family, ports: &[Value]) -> Value {
        slice::empty(self.object, &self.labels, family.text(), ports)
    }
}

fn who() -> Who<'static> {
    Who::Controller(NAME)
}

/// The slices of a Service that this controller manages.
fn existing(cx: &Context, service: &Item) -> Vec<Value> {
    let slices = cx.look(|graph| graph.list(slice::TABLE, service.namespace()));
    slices
        .iter()
        .filter(|slice| slice::service_of(slice, MANAGER) == Some(service.name()))
        .filter(|slice| !slice.is_deleting())
        .map(|slice| slice.object.value())
        .collect()
}

fn hint(distribution: Distribution, changes: &mut Changes) {
    for slice in changes.create.iter_mut().chain(&mut changes.update) {
        hint_slice(distribution, slice);
    }
    let mut unchanged = Vec::new();
    for mut slice in changes.unchanged.drain(..) {
        if hint_slice(distribution, &mut slice) {
            changes.update.push(slice);
        } else {
            unchanged.push(slice);
        }
    }
    changes.unchanged = unchanged;
}

fn hint_slice(distribution: Distribution, slice: &mut Value) -> bool {
    slice["endpoints"]
        .as_array_mut()
        .is_some_and(|endpoints| distribution.hint(endpoints))
}

/// Writes slices that are to be made in the place of those that are to be deleted.
fn recycle(service: &Item, changes: &mut Changes) {
    let mut deleted = Vec::new();
    for old in changes.delete.drain(..) {
        match changes.create.pop_if(|_| slice::is_owned_by(&old, service)) {
            Some(mut slice) => {
                let old = &old["metadata"];
                slice["metadata"]["name"] = old["name"].clone();
                // As of the real controller, which sends no resourceVersion here and wins over other writers.
                changes.update.push(slice);
            }
            None => deleted.push(old),
        }
    }
    changes.delete = deleted;
}

async fn finish(
    cx: &Context,
    service: &Item,
    changes: Changes,
    time: Option<&str>,
) -> Result<(), Failure> {
    let of_service = |what: &str, failure: &Failure| {
        let path = &service.object.path;
        Failure::own(format!(
            "failed to {what}EndpointSlice for Service {path}: {failure}"
        ))
    };
    if !service.is_deleting() {
        for mut slice in changes.create {
            annotate(&mut slice, time);
            let namespace = service.namespace();
            match cx
                .client
                .create(who(), &ENDPOINT_SLICES, namespace, &slice)
                .await
            {
                Err(failure) if failure.is_for_terminating_namespace() => return Ok(()),
                Err(failure) => return Err(of_service("create ", &failure)),
                Ok(_) => {}
            }
        }
    }
    for mut slice in changes.update {
        annotate(&mut slice, time);
        let updated = cx.client.update(who(), &ENDPOINT_SLICES, &slice).await;
        let what = format!("update {} ", text(&slice, "/metadata/name"));
        updated.map_err(|failure| of_service(&what, &failure))?;
    }
    for slice in &changes.delete {
        delete(cx, service, slice).await?;
    }
    Ok(())
}

async fn delete(cx: &Context, service: &Item, slice: &Value) -> Result<(), Failure> {
    let path = ENDPOINT_SLICES.path(service.namespace(), text(slice, "/metadata/name"));
    cx.client.delete(who(), &path, &json!({})).await
}

fn annotate(slice: &mut Value, time: Option<&str>) {
    let mut annotations = map(slice, "/metadata/annotations");
    match time {
        Some(time) => annotations.insert(ANNOTATION.to_owned(), time.into()),
        None => annotations.remove(ANNOTATION),
    };
    slice["metadata"]["annotations"] = annotations.into();
}
