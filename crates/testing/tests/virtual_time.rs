//! Hours that take microseconds: an API server, a program and what goes wrong between them, under tokio's paused time.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kubewright_controller::Cached;
use kubewright_manager::{App, Needs};
use kubewright_testing::{Faults, Refusal, Requests, Server, TestCluster, eventually, yaml};
use tokio::time::{Instant, sleep};

async fn embedded() -> TestCluster {
    TestCluster::builder().on(Server::Embedded).start().await
}

#[tokio::test(start_paused = true)]
async fn an_outage_lasts_as_long_as_it_was_said_to() {
    let cluster = embedded().await;
    cluster.faults().outage(Duration::from_mins(10));
    let start = Instant::now();
    let maps: Api<ConfigMap> = Api::all(cluster.client_under_test());
    while maps.list(&ListParams::default()).await.is_err() {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(start.elapsed().as_secs(), 600);
    assert_eq!(cluster.sent(&Requests::all()).len(), 601);
}

#[tokio::test(start_paused = true)]
async fn requests_and_answers_are_held_back_as_long_as_was_said() {
    let cluster = embedded().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client_under_test());
    let faults = cluster.faults();
    faults
        .on(Requests::all())
        .once()
        .slow(Duration::from_secs(2));
    faults
        .on(Requests::all())
        .once()
        .slow_answer(Duration::from_secs(3));
    let start = Instant::now();
    let map = yaml("metadata: {name: a}");
    let creating = async {
        maps.create(&PostParams::default(), &map).await.unwrap();
        start.elapsed().as_secs()
    };
    let created = async {
        eventually("the map", async || cluster.get::<ConfigMap>("a").await).await;
        start.elapsed().as_secs()
    };
    assert_eq!(tokio::join!(creating, created), (5, 2));
}

fn reader(needs: &mut Needs) -> App {
    let _: Cached<ConfigMap> = needs.cached();
    App::new("reader")
}

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "the caches of the program under test `reader` are not complete within 10s; it last sent:\n  \
                           watch configmaps in the whole cluster: 503"
)]
async fn a_program_whose_caches_never_come_fails_its_test_with_a_reason() {
    let faults = Faults::new();
    faults.on(Requests::all()).answer(Refusal::unavailable());
    let builder = TestCluster::builder().on(Server::Embedded);
    builder.faults(&faults).app(reader).start().await;
}
