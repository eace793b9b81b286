//! The disruption controller: how many pods a PodDisruptionBudget lets go, and conditions of disruptions that never came.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::selectors::Labels;
use serde_json::{Map, Value, json};
use tokio::time::Duration;

use super::client::{Api, BUDGETS, Failure, PODS, Who};
use super::graph::{Change, Graph};
use super::object::{Item, Owner, map, number, text};
use super::queue::Next;
use super::recorder::Kind;
use super::work::{Context, Controller, Key, Keys, Outcome};
use super::workloads::{condition, count, put_condition, share};

/// The disruption controller.
#[derive(Debug)]
pub(super) struct Disruption;

const TABLE: &str = "poddisruptionbudgets.policy";
const NAME: &str = "disruption-controller";
const WHO: Who<'static> = Who::Controller(NAME);

/// Seconds after which a pod that was to be evicted, and was not deleted, counts again.
const EVICTION_TIMEOUT: i64 = 120;

impl Controller for Disruption {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
        } else if change.is_in("pods") {
            let Some(pod) = change.item() else {
                return;
            };
            for budget in graph.list(TABLE, pod.namespace()) {
                keys.add(&budget);
            }
            if let Some(pod) = &change.after
                && is_disrupted(pod)
            {
                keys.add(pod);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) if &*item.table == TABLE => sync(cx, &item).await,
                Some(pod) => clear(cx, &pod).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

/// Whether a pod says that it is about to be disrupted, and is not.
fn is_disrupted(pod: &Item) -> bool {
    pod.is_active_pod() && !pod.pod.disrupted_since.is_empty()
}

/// Takes the condition back from a pod that was not deleted in time.
async fn clear(cx: &Context, pod: &Item) -> Outcome {
    if !is_disrupted(pod) {
        return Ok(Next::Done);
    }
    let left = cx.clock.until(&pod.pod.disrupted_since, EVICTION_TIMEOUT);
    if !left.is_zero() {
        return Ok(Next::After(left));
    }
    let mut object = pod.object.value();
    let mut status = map(&object, "/status");
    put_condition(
        &mut status,
        json!({"type": "DisruptionTarget", "status": "False", "lastTransitionTime": cx.clock.text()}),
    );
    object["status"] = Value::Object(status);
    cx.client.update_status(WHO, &PODS, &object).await?;
    Ok(Next::Done)
}

async fn sync(cx: &Context, item: &Item) -> Outcome {
    let budget = item.object.value();
    let (status, next) = match counted(cx, &budget).await {
        Ok(counted) => counted,
        Err(failure) => {
            let message = format!("Failed to calculate the number of expected pods: {failure}");
            let reason = "CalculateExpectedPodCountFailed";
            cx.tell(NAME, &budget, Kind::Warning, reason, &message)
                .await;
            let mut status = map(&budget, "/status");
            status.insert("disruptionsAllowed".to_owned(), 0.into());
            let failed = ("False", "SyncFailed", failure.to_string());
            set_condition(cx, &mut status, failed);
            (status, None)
        }
    };
    if map(&budget, "/status") != status {
        let mut changed = budget;
        changed["status"] = Value::Object(status);
        cx.client.update_status(WHO, &BUDGETS, &changed).await?;
    }
    Ok(next.map_or(Next::Done, Next::After))
}

/// The status of a budget, and the time until it is looked at again.
async fn counted(
    cx: &Context,
    budget: &Value,
) -> Result<(Map<String, Value>, Option<Duration>), Failure> {
    let selector = Labels::from_object(&budget["spec"]["selector"]);
    let selector = selector.map_err(Failure::own)?;
    let namespace = text(budget, "/metadata/namespace");
    let mut pods = cx.look(|graph| graph.list("pods", namespace));
    pods.retain(|pod| {
        let labels = Some(pod.object.labels());
        selector
            .as_ref()
            .is_some_and(|selector| selector.matches(labels))
    });
    if pods.is_empty() {
        let message = "No matching pods found";
        cx.tell(NAME, budget, Kind::Normal, "NoPods", message).await;
    }
    let (expected, desired) = expected(cx, budget, &pods).await?;
    let mut next: Option<Duration> = None;
    let mut disrupted = map(budget, "/status/disruptedPods");
    disrupted.retain(|name, since| {
        let pod = pods.iter().find(|pod| pod.name() == name);
        if pod.is_none_or(|pod| pod.is_deleting()) {
            return false;
        }
        let left = cx
            .clock
            .until(since.as_str().unwrap_or_default(), EVICTION_TIMEOUT);
        if left.is_zero() {
            return false;
        }
        next = Some(next.map_or(left, |next| next.min(left)));
        true
    });
    for (name, _) in map(budget, "/status/disruptedPods") {
        let late = pods
            .iter()
            .find(|pod| pod.name() == name && !pod.is_deleting());
        if let Some(pod) = late.filter(|_| !disrupted.contains_key(&name)) {
            // The real controller, too, names the namespace twice.
            let message = format!(
                "Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
            );
            let pod = pod.object.value();
            cx.tell(NAME, &pod, Kind::Warning, "NotDeleted", &message)
                .await;
        }
    }
    let healthy = count(&pods, |pod| {
        pod.pod.ready && !pod.is_deleting() && !disrupted.contains_key(pod.name())
    });
    let allowed = if expected > 0 {
        (healthy - desired).max(0)
    } else {
        0
    };
    let mut status = map(budget, "/status");
    for (name, number) in [
        ("currentHealthy", healthy),
        ("desiredHealthy", desired),
        ("expectedPods", expected),
        ("disruptionsAllowed", allowed),
        ("observedGeneration", number(budget, "/metadata/generation")),
    ] {
        status.insert(name.to_owned(), number.into());
    }
    if disrupted.is_empty() {
        status.remove("disruptedPods");
    } else {
        status.insert("disruptedPods".to_owned(), Value::Object(disrupted));
    }
    let (is, reason) = if allowed > 0 {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    set_condition(cx, &mut status, (is, reason, String::new()));
    Ok((status, next))
}

fn set_condition(
    cx: &Context,
    status: &mut Map<String, Value>,
    (is, reason, message): (&str, &str, String),
) {
    const WHAT: &str = "DisruptionAllowed";
    let known = condition(status, WHAT);
    let since = known
        .filter(|known| known["status"] == is)
        .map(|known| known["lastTransitionTime"].clone());
    let mut condition = json!({
        "type": WHAT,
        "status": is,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| cx.clock.text().into()),
    });
    if let Some(generation) = status.get("observedGeneration") {
        condition["observedGeneration"] = generation.clone();
    }
    put_condition(status, condition);
}

/// How many pods there shall be, and how many of them healthy.
async fn expected(cx: &Context, budget: &Value, pods: &[Arc<Item>]) -> Result<(i64, i64), Failure> {
    let most = &budget["spec"]["maxUnavailable"];
    let least = &budget["spec"]["minAvailable"];
    if !most.is_null() {
        let expected = scale_of_all(cx, budget, pods).await?;
        return Ok((expected, (expected - share(most, expected, true)).max(0)));
    }
    if least.is_string() {
        let expected = scale_of_all(cx, budget, pods).await?;
        return Ok((expected, share(least, expected, true)));
    }
    Ok((count(pods, |_| true), least.as_i64().unwrap_or_default()))
}

/// The sum of the scales of the controllers of pods.
async fn scale_of_all(cx: &Context, budget: &Value, pods: &[Arc<Item>]) -> Result<i64, Failure> {
    let mut scales: HashMap<&str, (String, i64)> = HashMap::new();
    let mut unmanaged = false;
    for pod in pods {
        let Some(owner) = pod.controller() else {
            unmanaged = true;
            continue;
        };
        if scales.contains_key(owner.uid.as_str()) {
            continue;
        }
        let found = scale(cx, owner, pod.namespace()).await?;
        let found = found.ok_or_else(|| {
            Failure::own(format!("found no controllers for pod {:?}", pod.name()))
        })?;
        scales.insert(&owner.uid, found);
    }
    if unmanaged {
        let selector = Labels::from_object(&budget["spec"]["selector"])
            .ok()
            .flatten();
        let selector = selector.map(|_| budget["spec"]["selector"].to_string());
        let message = format!(
            "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status \
             of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods \
             please set \".spec.minAvailable\" field of the PDB to an integer value.",
            selector.unwrap_or_default()
        );
        let reason = "UnmanagedPods";
        cx.tell(NAME, budget, Kind::Warning, reason, &message).await;
    }
    // ReplicaSets of one Deployment share its scale.
    let by_uid: HashMap<String, i64> = scales.into_values().collect();
    Ok(by_uid.into_values().sum())
}

/// The UID and the replicas of the controller of a pod or, above it, of its Deployment.
async fn scale(
    cx: &Context,
    owner: &Owner,
    namespace: &str,
) -> Result<Option<(String, i64)>, Failure> {
    let known = cx.look(|graph| {
        let item = graph.by_uid(&owner.uid)?;
        let scales = match &*item.table {
            "replicasets.apps" => {
                let above = item
                    .controller()
                    .and_then(|above| graph.by_uid(&above.uid))
                    .filter(|above| &*above.table == "deployments.apps");
                above.unwrap_or(item)
            }
            "replicationcontrollers" | "statefulsets.apps" => item,
            _ => return None,
        };
        Some(scales)
    });
    if let Some(item) = known {
        let replicas = number(&item.object.value(), "/spec/replicas");
        return Ok(Some((item.meta.uid.clone(), replicas)));
    }
    let (group, version) = owner
        .api_version
        .split_once('/')
        .unwrap_or(("", &owner.api_version));
    let kind = GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: owner.kind.clone(),
    };
    let resource = cx.served.now().by_kind(&kind).ok_or_else(|| {
        let message = format!(
            "no matches for kind \"{}\" in version \"{}\"",
            kind.kind, owner.api_version
        );
        Failure::own(message)
    })?;
    let path = Api::of(&resource).path(namespace, &owner.name);
    match cx.client.get(WHO, &format!("{path}/scale")).await {
        Ok(scale) if text(&scale, "/metadata/uid") == owner.uid => {
            Ok(Some((owner.uid.clone(), number(&scale, "/spec/replicas"))))
        }
        Ok(_) => Ok(None),
        Err(failure) if !failure.is_not_found() => Err(failure),
        Err(_) if resource.subresource("scale").is_some() => Ok(None),
        Err(_) => {
            let named = if group.is_empty() {
                resource.plural.clone()
            } else {
                format!("{}.{group}", resource.plural)
            };
            let message = format!("{named} does not implement the scale subresource");
            Err(Failure::own(message))
        }
    }
}
