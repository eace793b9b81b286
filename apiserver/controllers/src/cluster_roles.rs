//! Aggregation of ClusterRoles: the rules of a role with an aggregation rule are those of the roles that it selects.

use std::collections::BTreeSet;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::selectors::Labels;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::{Api, Failure, Who};
use super::graph::{Change, Graph};
use super::object::{Item, list};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};

/// The ClusterRole aggregation controller.
#[derive(Debug, Default)]
pub(super) struct ClusterRoles {
    /// The names of the roles that are aggregated.
    aggregated: Mutex<BTreeSet<String>>,
}

const TABLE: &str = "clusterroles.rbac.authorization.k8s.io";
const NAME: &str = "clusterrole-aggregation-controller";
const API: Api = Api::of_cluster_in("/apis/rbac.authorization.k8s.io/v1", "clusterroles");

impl Controller for ClusterRoles {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if !change.is_in(TABLE) {
            return;
        }
        let mut aggregated = self.aggregated.lock();
        if let Some(role) = change.item() {
            let is = change
                .after
                .as_ref()
                .is_some_and(|role| role.object.value()["aggregationRule"].is_object());
            if is {
                aggregated.insert(role.name().to_owned());
            } else {
                aggregated.remove(role.name());
            }
        }
        for name in aggregated.iter() {
            if let Some(role) = graph.get(TABLE, name) {
                keys.add(&role);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(role) if !role.is_deleting() => aggregate(cx, &role).await,
                _ => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn aggregate(cx: &Context, role: &Item) -> Outcome {
    let object = role.object.value();
    if !object["aggregationRule"].is_object() {
        return Ok(Next::Done);
    }
    let roles = cx.look(|graph| graph.list(TABLE, ""));
    let mut rules: Vec<Value> = Vec::new();
    for selector in list(&object, "/aggregationRule/clusterRoleSelectors") {
        let selector = Labels::from_object(selector).map_err(Failure::own)?;
        let selected = roles.iter().filter(|other| {
            let labels = Some(other.object.labels());
            other.name() != role.name()
                && selector
                    .as_ref()
                    .is_some_and(|selector| selector.matches(labels))
        });
        for other in selected {
            for rule in list(&other.object.value(), "/rules") {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    if list(&object, "/rules") == rules {
        return Ok(Next::Done);
    }
    let applied = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role.name()},
        "rules": rules,
    });
    let path = API.path("", role.name());
    let who = Who::Controller(NAME);
    match cx.client.apply(who, &path, NAME, &applied).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(Next::Done),
    }
}
