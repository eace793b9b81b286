//! The controller of Endpoints: the addresses of the pods behind each Service.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::super::client::{ENDPOINTS, Failure, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, map, text};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::addresses::{Family, families, is_headless};
use super::capacity::{self, OVER_CAPACITY};
use super::pods::{self, addresses, has_endpoint};
use super::ports;
use super::subsets::repacked;
use super::trigger_time::{self, TriggerTimes};

/// The controller of Endpoints.
#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    times: TriggerTimes,
}

const NAME: &str = "endpoint-controller";
const HEADLESS: &str = "service.kubernetes.io/headless";
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

impl Controller for Endpoints {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        let Some(item) = change.item() else {
            return;
        };
        match &*item.table {
            "services" => keys.add(item),
            "pods" => pods::concern_services(change, graph, keys),
            "endpoints" if change.after.is_none() => {
                keys.add_path(&Arc::from("services"), item.object.path.clone());
            }
            _ => {}
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(service) => self.write(cx, &service).await?,
                None => self.remove(cx, &key.path).await?,
            }
            Ok(Next::Done)
        }
        .boxed()
    }
}

impl Endpoints {
    async fn remove(&self, cx: &Context, path: &str) -> Result<(), Failure> {
        self.times.forget(path);
        let Some(endpoints) = cx.look(|graph| graph.get("endpoints", path)) else {
            return Ok(());
        };
        let path = ENDPOINTS.path(endpoints.namespace(), endpoints.name());
        let options = json!({"preconditions": {"uid": endpoints.meta.uid}});
        cx.client.delete(who(), &path, &options).await
    }

    async fn write(&self, cx: &Context, service: &Item) -> Result<(), Failure> {
        let object = service.object.value();
        if text(&object, "/spec/type") == "ExternalName" || service.selector.is_none() {
            return Ok(());
        }
        let pods = pods::selected(cx, service);
        let time = self.times.next(service, &pods);
        let mut subsets = repacked(&subsets(service, &object, &pods));
        let current = cx.look(|graph| graph.get("endpoints", &service.object.path));
        let mut endpoints = match &current {
            Some(current) => current.object.value(),
            None => json!({
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": service.name(), "namespace": service.namespace()},
            }),
        };
        let labels = labels(&object);
        let annotated = map(&endpoints, "/metadata/annotations");
        let stored = list(&endpoints, "/subsets");
        if current.is_some()
            && (stored == subsets.as_slice() || repacked(stored) == subsets)
            && map(&endpoints, "/metadata/labels") == labels
            && !capacity::is_over(stored)
            && !annotated.contains_key(OVER_CAPACITY)
        {
            return Ok(());
        }
        let mut annotations = annotated;
        put(&mut annotations, trigger_time::ANNOTATION, time);
        let truncated = capacity::truncate(&mut subsets);
        put(
            &mut annotations,
            OVER_CAPACITY,
            truncated.then(|| "truncated".to_owned()),
        );
        endpoints["metadata"]["annotations"] = annotations.into();
        endpoints["metadata"]["labels"] = labels.into();
        endpoints["subsets"] = subsets.into();
        let (answer, reason, what) = if current.is_some() {
            let answer = cx.client.update(who(), &ENDPOINTS, &endpoints).await;
            (answer, "FailedToUpdateEndpoint", "update endpoint")
        } else {
            let namespace = service.namespace();
            let answer = cx
                .client
                .create(who(), &ENDPOINTS, namespace, &endpoints)
                .await;
            (
                answer,
                "FailedToCreateEndpoint",
                "create endpoint for service",
            )
        };
        match answer {
            Err(failure) if failure.is_for_terminating_namespace() => Ok(()),
            Err(failure) => {
                let message = format!("Failed to {what} {}: {failure}", service.object.path);
                cx.tell(NAME, &endpoints, Kind::Warning, reason, &message)
                    .await;
                Err(failure)
            }
            Ok(_) => Ok(()),
        }
    }
}

fn who() -> Who<'static> {
    Who::Controller(NAME)
}

/// One subset for each pod and port.
fn subsets(service: &Item, object: &Value, pods: &[Arc<Item>]) -> Vec<Value> {
    let unready_too = object["spec"]["publishNotReadyAddresses"] == true;
    let has_ports = !list(object, "/spec/ports").is_empty();
    let mut subsets = Vec::new();
    for pod in pods {
        if !has_endpoint(pod) || (pod.is_deleting() && !unready_too) {
            continue;
        }
        let Some(address) = address(service, object, pod) else {
            continue;
        };
        let state = if unready_too || pod.pod.ready {
            "addresses"
        } else {
            "notReadyAddresses"
        };
        if !has_ports && text(object, "/spec/clusterIP") == "None" {
            subsets.push(json!({state: [address]}));
        }
        for mut port in ports::ports(pod, object) {
            if let Some(port) = port.as_object_mut()
                && port["name"] == ""
            {
                port.remove("name");
            }
            subsets.push(json!({state: [address], "ports": [port]}));
        }
    }
    subsets
}

/// The first address of a pod in the first family of the Service.
fn address(service: &Item, object: &Value, pod: &Item) -> Option<Value> {
    let named = !list(object, "/spec/ipFamilies").is_empty() || !is_headless(object);
    let family = match families(object).first() {
        Some(family) if named => *family,
        _ => Family::of(addresses(pod).next()?),
    };
    let ip = addresses(pod).find(|ip| Family::of(*ip) == family)?;
    let mut address = Map::new();
    address.insert("ip".to_owned(), ip.to_string().into());
    if let Some(hostname) = pods::hostname(pod, service) {
        address.insert("hostname".to_owned(), hostname.into());
    }
    address.insert("nodeName".to_owned(), pod.pod.node.as_str().into());
    address.insert("targetRef".to_owned(), pods::target(pod));
    Some(Value::Object(address))
}

/// The labels of a Service's Endpoints.
fn labels(service: &Value) -> Map<String, Value> {
    let mut labels = map(service, "/metadata/labels");
    if is_headless(service) {
        labels.insert(HEADLESS.to_owned(), "".into());
    } else {
        labels.remove(HEADLESS);
    }
    labels.insert(MANAGED_BY.to_owned(), NAME.into());
    labels
}

fn put(annotations: &mut Map<String, Value>, name: &str, value: Option<String>) {
    match value {
        Some(value) => annotations.insert(name.to_owned(), value.into()),
        None => annotations.remove(name),
    };
}
