//! The objects of every namespace: the ServiceAccount `default`, and the ConfigMap with the CA that its pods trust.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::client::{Answer, Api, Failure, Who};
use super::graph::{Change, Graph};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};

/// The controllers of service accounts and of the root certificate.
#[derive(Debug)]
pub(super) struct Accounts;

const NAMESPACES: &str = "namespaces";
const ACCOUNT: (&str, &str) = ("serviceaccounts", "default");
const CERTIFICATE: (&str, &str) = ("configmaps", "kube-root-ca.crt");

impl Controller for Accounts {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        let Some(item) = change.item() else {
            return;
        };
        let place = (&*item.table, item.name());
        if change.is_in(NAMESPACES) {
            change.after.iter().for_each(|item| keys.add(item));
        } else if place == CERTIFICATE || (place == ACCOUNT && change.after.is_none()) {
            keys.add_path(&Arc::from(NAMESPACES), item.namespace().to_owned());
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let namespace = cx.item(key).filter(|namespace| !namespace.is_deleting());
            let Some(namespace) = namespace else {
                return Ok(Next::Done);
            };
            make_account(cx, namespace.name()).await?;
            make_certificate(cx, namespace.name()).await?;
            Ok(Next::Done)
        }
        .boxed()
    }
}

async fn make_account(cx: &Context, namespace: &str) -> Result<(), Failure> {
    let (table, name) = ACCOUNT;
    if is_there(cx, table, namespace, name).is_some() {
        return Ok(());
    }
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    });
    let who = Who::Controller("service-account-controller");
    let api = Api::core(table);
    settled(cx.client.create(who, &api, namespace, &account).await)
}

async fn make_certificate(cx: &Context, namespace: &str) -> Result<(), Failure> {
    const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
         endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
         distributions of Kubernetes clusters.";
    let (table, name) = CERTIFICATE;
    let data = json!({"ca.crt": cx.root_ca()?});
    let who = Who::Controller("root-ca-cert-publisher");
    let api = Api::core(table);
    let Some(mut present) = is_there(cx, table, namespace, name) else {
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": DESCRIPTION},
            },
            "data": data,
        });
        return settled(cx.client.create(who, &api, namespace, &map).await);
    };
    if present["data"] == data {
        return Ok(());
    }
    present["data"] = data;
    present["metadata"]["annotations"]["kubernetes.io/description"] = DESCRIPTION.into();
    settled(cx.client.update(who, &api, &present).await)
}

/// Reads an object from the store, whether or not a client has read its resource before.
fn is_there(cx: &Context, table: &str, namespace: &str, name: &str) -> Option<Value> {
    let object = cx.store.get(table, &format!("{namespace}/{name}"));
    object.map(|object| object.value())
}

/// Ignores errors of objects that already exist or no longer exist, and of namespaces that are being deleted.
fn settled(answer: Answer) -> Result<(), Failure> {
    match answer {
        Err(failure) if failure.already_exists() || failure.is_for_terminating_namespace() => {
            Ok(())
        }
        Err(failure) if failure.is_not_found() => Ok(()),
        answer => answer.map(drop),
    }
}
