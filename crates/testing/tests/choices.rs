//! Predicates, priorities and turns of a controller, on the embedded and on the real API server.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kubewright_controller::{
    Action, AnyController, Context, Controller, Informers, Predicate, Scope,
};
use kubewright_testing::{Server, TestCluster, eventually, unique, yaml};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

/// What is urgent comes first, then namespaces take turns, and only changes that matter call for more.
async fn objects_come_in_the_order_that_was_chosen(server: Server) {
    let cluster = TestCluster::builder().on(server).start().await;
    let (large, small) = (cluster.namespace().to_owned(), unique("small"));
    let namespace: Namespace = yaml(&format!("metadata: {{name: {small}}}"));
    cluster.create(&namespace).await.expect_allowed();
    let batch = unique("batch");
    let create = async |namespace: &str, name: &str| {
        let map: ConfigMap = yaml(&format!(
            "{{metadata: {{namespace: {namespace}, name: {name}, labels: {{batch: {batch}}}}}, data: {{size: '1'}}}}"
        ));
        cluster.create(&map).await.expect_allowed();
    };
    for number in 0..20 {
        create(&large, &format!("map-{number:02}")).await;
    }
    create(&large, "urgent").await;
    create(&large, "not-mine").await;
    create(&small, "one").await;
    create(&small, "two").await;

    let gate = Arc::new(Semaphore::new(0));
    let (sender, mut begun) = mpsc::unbounded_channel();
    let permits = Arc::clone(&gate);
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        let (permits, sender) = (Arc::clone(&permits), sender.clone());
        async move {
            permits.acquire().await?.forget();
            sender.send(map.name_any())?;
            Ok(Action::await_change())
        }
    };
    let is_mine = Predicate::object(|map: &ConfigMap| map.name_any() != "not-mine");
    let size = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("size").cloned());
    let resized = Predicate::updated(move |old, new| size(old) != size(new));
    let controller = Controller::new("maps", reconcile)
        .within(Scope::all().labelled(format!("batch={batch}")))
        .filter(is_mine.and(resized))
        .priority(|map| i32::from(map.name_any() == "urgent"))
        .fair_between_namespaces();
    let informers = Informers::new();
    let running = AnyController::from(controller).attach(&informers);
    let meter = running.meter();
    let client = cluster.client();
    tokio::spawn(async move { informers.run(client).await });
    tokio::spawn(async move { running.run(std::future::pending()).await });

    let all = async || {
        let load = meter.read();
        (load.adds == 23 && load.active == 1).then_some(())
    };
    eventually("the objects", all).await;
    gate.add_permits(100);
    let mut names = Vec::new();
    for _ in 0..23 {
        names.push(begun.recv().await.expect("a reconcile"));
    }
    let place = |name: &str| names.iter().position(|known| known == name);
    // The worker had taken the first one that there was.
    assert!(place("urgent").is_some_and(|at| at <= 1), "{names:?}");
    assert!(place("one").is_some_and(|at| at <= 3), "{names:?}");
    assert!(place("two").is_some_and(|at| at <= 5), "{names:?}");
    assert_eq!(place("not-mine"), None);

    let merge = async |name: &str, patch: serde_json::Value| {
        cluster
            .merge::<ConfigMap>(name, &patch)
            .await
            .expect_allowed();
    };
    merge("map-00", json!({"data": {"color": "red"}})).await;
    merge("not-mine", json!({"data": {"size": "2"}})).await;
    merge("map-01", json!({"data": {"size": "2"}})).await;
    assert_eq!(begun.recv().await.as_deref(), Some("map-01"));
}

#[tokio::test]
async fn objects_come_in_the_order_that_was_chosen_on_an_embedded_api_server() {
    objects_come_in_the_order_that_was_chosen(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn objects_come_in_the_order_that_was_chosen_on_a_real_api_server() {
    objects_come_in_the_order_that_was_chosen(Server::Real).await;
}
