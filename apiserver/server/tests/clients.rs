//! kube-rs as a client, in process and over HTTPS.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::Action;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, WatchStreamExt as _, reflector, watcher};
use kube::{Client, Config, ResourceExt as _};
use kubewright_apiserver::{ApiServer, Listening};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use crate::cluster::{deployment, map, pod};

/// Long enough for a busy machine; nothing waits for it unless something is wrong.
const TIMEOUT: Duration = Duration::from_secs(20);

fn in_process() -> Client {
    Client::new(ApiServer::start().service(), "default")
}

async fn over_https() -> (Client, Listening) {
    let listening = ApiServer::start()
        .listen(([127, 0, 0, 1], 0))
        .await
        .unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&listening.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    (Client::try_from(config).unwrap(), listening)
}

fn typed<K: DeserializeOwned>(object: serde_json::Value) -> K {
    serde_json::from_value(object).unwrap()
}

/// Runs one scenario with both kinds of client.
macro_rules! both_ways {
    ($($name:ident),* $(,)?) => {
        mod in_this_process {
            $(#[tokio::test]
            async fn $name() {
                tokio::time::timeout(super::TIMEOUT, super::$name(super::in_process())).await.unwrap();
            })*
        }
        mod over_a_socket {
            $(#[tokio::test]
            async fn $name() {
                let (client, listening) = super::over_https().await;
                tokio::time::timeout(super::TIMEOUT, super::$name(client)).await.unwrap();
                listening.stop().await;
            })*
        }
    };
}

both_ways!(
    objects_are_made_listed_and_deleted,
    patches_and_statuses_are_written,
    a_watch_and_a_streaming_list_see_the_objects,
    a_condition_can_be_awaited,
    a_reflector_follows_the_store,
    a_controller_reconciles,
    metadata_can_be_had_alone,
    the_api_can_be_discovered,
);

async fn objects_are_made_listed_and_deleted(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &typed(map(name)))
            .await
            .unwrap();
    }
    let page = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(page.items.len(), 2);
    let token = page.metadata.continue_.unwrap();
    let rest = maps
        .list(&ListParams::default().limit(2).continue_token(&token))
        .await
        .unwrap();
    assert_eq!(rest.items[0].name_any(), "c");
    let error = maps
        .create(&PostParams::default(), &typed(map("a")))
        .await
        .unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.is_already_exists()));
    let outcome = maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(outcome.is_right(), "a config map is gone at once");
    maps.delete_collection(&DeleteParams::default(), &ListParams::default())
        .await
        .unwrap();
    assert!(maps.get_opt("b").await.unwrap().is_none());
}

async fn patches_and_statuses_are_written(client: Client) {
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    deployments
        .create(&PostParams::default(), &typed(deployment("web")))
        .await
        .unwrap();
    let params = PatchParams::default();
    let merge = json!({"spec": {"replicas": 3}});
    let merged = deployments
        .patch("web", &params, &Patch::Merge(&merge))
        .await
        .unwrap();
    assert_eq!(merged.spec.replicas, Some(3));
    let strategic = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}});
    let patched = deployments
        .patch("web", &params, &Patch::Strategic(&strategic))
        .await
        .unwrap();
    let containers = patched.spec.template.spec.unwrap().containers;
    assert_eq!(
        (containers.len(), containers[0].image.as_deref()),
        (1, Some("other"))
    );
    let status = json!({"status": {"replicas": 3, "readyReplicas": 1}});
    let reported = deployments
        .patch_status("web", &params, &Patch::Merge(&status))
        .await
        .unwrap();
    assert_eq!(reported.status.unwrap().ready_replicas, Some(1));
    let mut whole = deployments.get_status("web").await.unwrap();
    whole.status.as_mut().unwrap().ready_replicas = Some(2);
    deployments
        .replace_status("web", &PostParams::default(), &whole)
        .await
        .unwrap();
    let scale = deployments.get_scale("web").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(3));
}

async fn a_watch_and_a_streaming_list_see_the_objects(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let made = maps
        .create(&PostParams::default(), &typed(map("a")))
        .await
        .unwrap();
    let mut watch = Box::pin(maps.watch(&WatchParams::default(), "0").await.unwrap());
    let Some(Ok(WatchEvent::Added(first))) = watch.next().await else {
        panic!("the object that is there");
    };
    assert_eq!(first, made);
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let mut events = Box::pin(watcher(maps.clone(), config));
        let mut seen = Vec::new();
        while let Some(event) = events.try_next().await.unwrap() {
            match event {
                watcher::Event::InitApply(object) => seen.push(object.name_any()),
                watcher::Event::InitDone => break,
                _ => {}
            }
        }
        assert_eq!(seen, ["a"]);
        maps.create(&PostParams::default(), &typed(map("later")))
            .await
            .unwrap();
        let Some(Ok(watcher::Event::Apply(object))) = events.next().await else {
            panic!("the object that came later");
        };
        assert_eq!(object.name_any(), "later");
        maps.delete("later", &DeleteParams::default())
            .await
            .unwrap();
        let Some(Ok(watcher::Event::Delete(object))) = events.next().await else {
            panic!("the object that went");
        };
        assert_eq!(object.name_any(), "later");
    }
}

async fn a_condition_can_be_awaited(client: Client) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    pods.create(&PostParams::default(), &typed(pod("x")))
        .await
        .unwrap();
    let running = tokio::spawn(await_condition(
        pods.clone(),
        "x",
        conditions::is_pod_running(),
    ));
    let status = json!({"status": {"phase": "Running"}});
    pods.patch_status("x", &PatchParams::default(), &Patch::Merge(&status))
        .await
        .unwrap();
    running.await.unwrap().unwrap();
    let uid = pods.get("x").await.unwrap().uid().unwrap();
    let gone = await_condition(pods.clone(), "x", conditions::is_deleted(&uid));
    let params = DeleteParams::default();
    let (gone, deleted) = tokio::join!(gone, pods.delete("x", &params));
    gone.unwrap();
    deleted.unwrap();
}

async fn a_reflector_follows_the_store(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &typed(map("a")))
        .await
        .unwrap();
    let (reader, writer) = reflector::store();
    let stream = watcher(maps.clone(), watcher::Config::default());
    let mut changes = Box::pin(stream.reflect(writer).touched_objects());
    assert_eq!(changes.next().await.unwrap().unwrap().name_any(), "a");
    maps.create(&PostParams::default(), &typed(map("b")))
        .await
        .unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap().name_any(), "b");
    assert_eq!(reader.state().len(), 2);
}

async fn a_controller_reconciles(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &typed(map("a")))
        .await
        .unwrap();
    let rounds = Arc::new(AtomicUsize::new(0));
    let reconcile =
        async |object: Arc<ConfigMap>, (maps, rounds): &(Api<ConfigMap>, Arc<AtomicUsize>)| {
            rounds.fetch_add(1, Ordering::Relaxed);
            let patch = json!({"data": {"seen": "yes"}});
            let name = object.name_any();
            maps.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
                .await?;
            Ok::<_, kube::Error>(Action::await_change())
        };
    let context = Arc::new((maps.clone(), rounds.clone()));
    let controller = Controller::new(maps.clone(), watcher::Config::default())
        .run(
            move |object, context: Arc<(Api<ConfigMap>, Arc<AtomicUsize>)>| {
                Box::pin(async move { reconcile(object, &context).await })
            },
            |_, _, _| Action::await_change(),
            context,
        )
        .for_each(async |_| ());
    let seen = await_condition(maps.clone(), "a", |object: Option<&ConfigMap>| {
        let data = object.and_then(|object| object.data.as_ref());
        data.is_some_and(|data| data.contains_key("seen"))
    });
    tokio::select! {
        () = controller => panic!("the controller ended"),
        seen = timeout(TIMEOUT, seen) => seen.unwrap().unwrap(),
    };
    assert!(rounds.load(Ordering::Relaxed) > 0);
}

async fn metadata_can_be_had_alone(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &typed(map("a")))
        .await
        .unwrap();
    assert_eq!(maps.get_metadata("a").await.unwrap().name_any(), "a");
    assert_eq!(
        maps.list_metadata(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
}

async fn the_api_can_be_discovered(client: Client) {
    let discovery = kube::discovery::Discovery::new(client.clone())
        .run()
        .await
        .unwrap();
    let group = discovery.get("apps").unwrap();
    let (resource, _) = group.recommended_kind("Deployment").unwrap();
    assert_eq!(resource.plural, "deployments");
    let aggregated = kube::discovery::Discovery::new(client.clone())
        .run_aggregated()
        .await
        .unwrap();
    assert!(aggregated.get("batch").is_some());
    assert_eq!(client.apiserver_version().await.unwrap().minor, "37");
}
