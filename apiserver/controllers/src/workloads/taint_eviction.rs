//! Taints with the effect `NoExecute`: pods that do not tolerate them, or no longer, are deleted.

use std::collections::HashMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::super::client::{PODS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, list, map};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::affinity::is_tolerated;
use super::status::put_condition;

/// The taint eviction controller.
#[derive(Debug, Default)]
pub(crate) struct TaintEviction {
    /// The taints of the nodes that have any.
    tainted: Mutex<HashMap<String, Vec<Value>>>,
    /// Since when each pod is about to be deleted, by its UID.
    since: Mutex<HashMap<String, Instant>>,
}

/// The source of its events; its requests have the name of the node controller.
const NAME: &str = "taint-eviction-controller";
const WHO: Who<'static> = Who::Controller("node-controller");

impl Controller for TaintEviction {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in("nodes") {
            let Some(node) = change.item() else {
                return;
            };
            let taints = change.after.as_ref().map(|node| {
                let mut taints = list(&node.object.value(), "/spec/taints").to_vec();
                taints.retain(|taint| taint["effect"] == "NoExecute");
                taints
            });
            let mut tainted = self.tainted.lock();
            let before = tainted.remove(node.name());
            let after = taints.filter(|taints| !taints.is_empty());
            if before == after {
                tainted.extend(after.map(|taints| (node.name().to_owned(), taints)));
                return;
            }
            tainted.extend(after.map(|taints| (node.name().to_owned(), taints)));
            for pod in graph.list("pods", "") {
                if pod.pod.node == node.name() {
                    keys.add(&pod);
                }
            }
        } else if change.is_in("pods") {
            match (&change.before, &change.after) {
                (_, Some(pod)) if self.tainted.lock().contains_key(&pod.pod.node) => keys.add(pod),
                (Some(gone), None) => {
                    self.since.lock().remove(&gone.meta.uid);
                }
                _ => {}
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(pod) if pod.is_active_pod() => self.look(cx, &pod).await,
                _ => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

impl TaintEviction {
    async fn look(&self, cx: &Context, pod: &Item) -> Outcome {
        let object = pod.object.value();
        let taints = self.tainted.lock().get(&pod.pod.node).cloned();
        let stays = stays(
            &taints.unwrap_or_default(),
            list(&object, "/spec/tolerations"),
        );
        let name = format!("{}/{}", pod.namespace(), pod.name());
        let Some(stays) = stays else {
            if self.since.lock().remove(&pod.meta.uid).is_some() {
                let message = format!("Cancelling deletion of Pod {name}");
                let reason = "TaintManagerEviction";
                cx.tell(NAME, &object, Kind::Normal, reason, &message).await;
            }
            return Ok(Next::Done);
        };
        let now = Instant::now();
        let since = *self.since.lock().entry(pod.meta.uid.clone()).or_insert(now);
        let left = stays.saturating_sub(now.duration_since(since));
        if !left.is_zero() {
            return Ok(Next::After(left));
        }
        let message = format!("Marking for deletion Pod {name}");
        let reason = "TaintManagerEviction";
        cx.tell(NAME, &object, Kind::Normal, reason, &message).await;
        let mut changed = object;
        let mut status = map(&changed, "/status");
        put_condition(
            &mut status,
            json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByTaintManager",
                "message": "Taint manager: deleting due to NoExecute taint",
                "lastTransitionTime": cx.clock.text(),
            }),
        );
        changed["status"] = Value::Object(status);
        match cx.client.update_status(WHO, &PODS, &changed).await {
            Err(failure) if failure.is_not_found() => return Ok(Next::Done),
            outcome => outcome?,
        };
        let path = PODS.path(pod.namespace(), pod.name());
        let options = json!({"preconditions": {"uid": pod.meta.uid}});
        cx.client.delete(WHO, &path, &options).await?;
        Ok(Next::Done)
    }
}

/// How long a pod stays on a node with these taints; `None` if they do not end its stay.
fn stays(taints: &[Value], tolerations: &[Value]) -> Option<Duration> {
    let mut least: Option<i64> = None;
    for taint in taints {
        // Each taint needs a toleration, and the first one of them counts.
        let Some(toleration) = tolerations.iter().find(|one| is_tolerated(taint, one)) else {
            return Some(Duration::ZERO);
        };
        if let Some(seconds) = toleration["tolerationSeconds"].as_i64() {
            least = Some(least.map_or(seconds, |least| least.min(seconds)));
        }
    }
    let seconds = u64::try_from(least?.max(0)).unwrap_or_default();
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_stays_as_long_as_it_tolerates_every_taint() {
        let taint = json!({"key": "a", "value": "b", "effect": "NoExecute"});
        let other = json!({"key": "c", "effect": "NoExecute"});
        let toleration = |key: &str, seconds: Option<i64>| {
            let mut toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute"});
            if let Some(seconds) = seconds {
                toleration["tolerationSeconds"] = seconds.into();
            }
            toleration
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let both = [taint.clone(), other];
        for (taints, tolerations, expected) in [
            (&both[..0], vec![], None),
            (&both[..1], vec![], seconds(0)),
            (&both[..1], vec![toleration("a", None)], None),
            (&both[..1], vec![toleration("a", Some(5))], seconds(5)),
            (&both[..1], vec![toleration("a", Some(-1))], seconds(0)),
            (&both[..], vec![toleration("a", Some(5))], seconds(0)),
            (
                &both[..],
                vec![toleration("a", Some(5)), toleration("c", Some(2))],
                seconds(2),
            ),
        ] {
            assert_eq!(
                stays(taints, &tolerations),
                expected,
                "{taints:?} {tolerations:?}"
            );
        }
    }
}
