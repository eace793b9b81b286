//! Kinds whose definitions come and go on a real API server, which says so in its own words and at its own pace.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::{Api, Client, ResourceExt};
use kubewright_controller::{
    Action, AnyController, Cached, Context, Controller, Error, Informers, Kind, Scope,
};
use kubewright_testing::{ControlPlane, eventually};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

const NAME: &str = "widgets.example.com";

fn widgets() -> Kind {
    Kind::namespaced("example.com/v1alpha1", "Widget", "widgets").unwrap()
}

/// The versions of a widget, of which the first is served or not.
fn versions(is_served: bool) -> serde_json::Value {
    let version = |name: &str, is_served: bool, is_stored: bool| {
        json!({"name": name, "served": is_served, "storage": is_stored, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    json!([
        version("v1alpha1", is_served, false),
        version("v1", true, true)
    ])
}

async fn define(definitions: &Api<CustomResourceDefinition>) {
    let definition = serde_json::from_value(json!({
        "metadata": {"name": NAME},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions(true),
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"}},
    }))
    .unwrap();
    definitions
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
}

async fn undefine(definitions: &Api<CustomResourceDefinition>) {
    definitions
        .delete(NAME, &DeleteParams::default())
        .await
        .unwrap();
    eventually("the end of the definition", async || {
        definitions
            .get_opt(NAME)
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
}

async fn widget(client: &Client) -> DynamicObject {
    let kind = widgets();
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), kind.resource());
    let object = DynamicObject::new("a", kind.resource()).data(json!({"spec": {"size": 3}}));
    eventually("a widget", async || {
        api.create(&PostParams::default(), &object).await.ok()
    })
    .await
}

#[tokio::test]
async fn kinds_come_and_go_on_a_real_api_server() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let reconcile = move |object: Arc<DynamicObject>, _: Context| {
        drop(sender.send(object));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    let controller = Controller::dynamic("widgets", &widgets(), reconcile).optional();
    let informers = Informers::new();
    let metadata: Cached<PartialObjectMeta> =
        Cached::dynamic(&informers.optional(), &widgets(), Scope::all());
    let running = AnyController::from(controller).attach(&informers);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { running.run(std::future::pending()).await });
    let (all, follower) = (informers.clone(), client.clone());
    tasks.spawn(async move { all.run(follower).await });
    let not_served = async |caches: usize| {
        eventually("the state of the kind", async || {
            (informers.follows()[NAME].not_served == caches).then_some(())
        })
        .await;
    };

    informers.synced().await;
    for round in 0..5 {
        not_served(2).await;
        define(&definitions).await;
        let created = widget(&client).await;
        let object = timeout(Duration::from_secs(5), reconciled.recv()).await;
        let object = object.unwrap().unwrap();
        assert_eq!(object.uid(), created.uid(), "round {round}");
        let seen = eventually("its metadata", async || {
            metadata.get(("default", "a")).await.unwrap()
        })
        .await;
        assert_eq!(seen.uid(), created.uid());
        let entry = metadata.entries().remove(0);
        assert!(!entry.json().contains("size"), "{}", entry.json());
        if round == 0 {
            for is_served in [false, true] {
                let patch = Patch::Merge(json!({"spec": {"versions": versions(is_served)}}));
                definitions
                    .patch(NAME, &PatchParams::default(), &patch)
                    .await
                    .unwrap();
                not_served(if is_served { 0 } else { 2 }).await;
                assert_eq!(metadata.entries().len(), usize::from(is_served));
            }
            timeout(Duration::from_secs(5), reconciled.recv())
                .await
                .unwrap();
        }
        undefine(&definitions).await;
    }
    not_served(2).await;
    assert!(metadata.entries().is_empty());
}
