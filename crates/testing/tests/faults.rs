//! What goes wrong on the way to the API server goes wrong as it was said, for programs under test alone.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Api, Error, ResourceExt};
use kubewright_controller::Cached;
use kubewright_manager::{App, Needs};
use kubewright_testing::{End, Faults, Refusal, Requests, TestCluster, eventually, yaml};
use serde_json::{Value, json};

fn map(name: &str) -> ConfigMap {
    yaml(&format!(
        "{{metadata: {{name: {name}}}, data: {{key: top-secret-value}}}}"
    ))
}

/// The ConfigMaps of a cluster, as a program under test reaches them.
fn maps(cluster: &TestCluster) -> Api<ConfigMap> {
    Api::namespaced(cluster.client_under_test(), cluster.namespace())
}

fn refused<T: std::fmt::Debug>(answer: kube::Result<T>) -> Box<Status> {
    match answer {
        Err(Error::Api(status)) => status,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn what_goes_wrong_for_programs_does_not_go_wrong_for_the_test() {
    let cluster = TestCluster::start().await;
    cluster
        .faults()
        .on(Requests::all())
        .answer(Refusal::unavailable());
    cluster.create(&map("a")).await.expect_allowed();
    let status = refused(maps(&cluster).get("a").await);
    assert_eq!(
        (status.code, status.reason.as_str()),
        (503, "ServiceUnavailable")
    );
    cluster.faults().clear();
    assert_eq!(maps(&cluster).get("a").await.unwrap().name_any(), "a");
}

#[tokio::test]
async fn a_fault_befalls_the_requests_that_are_meant_and_as_often_as_was_said() {
    let cluster = TestCluster::start().await;
    for name in ["a", "b"] {
        cluster.create(&map(name)).await.expect_allowed();
    }
    let maps = maps(&cluster);
    let gets = Requests::of::<ConfigMap>().verb("get").named("a");
    let faults = cluster.faults();
    faults.on(gets).after(1).times(2).answer(Refusal::gone());
    let mut codes = Vec::new();
    for name in ["a", "b", "a", "b", "a", "a"] {
        codes.push(
            maps.get(name)
                .await
                .map_or_else(|error| refused::<ConfigMap>(Err(error)).code, |_| 200),
        );
    }
    assert_eq!(codes, [200, 200, 410, 200, 410, 200]);
}

#[tokio::test]
async fn a_conflict_names_the_object_and_comes_once() {
    let cluster = TestCluster::start().await;
    let mut a = cluster.create(&map("a")).await.expect_allowed();
    cluster.faults().conflict_once::<ConfigMap>();
    let secrets: Api<Secret> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    drop(secrets.get_opt("a").await.unwrap());
    a.data = None;
    let update = maps(&cluster);
    let parameters = PostParams::default();
    let status = refused(update.replace("a", &parameters, &a).await);
    assert!(status.is_conflict());
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );
    update.replace("a", &parameters, &a).await.unwrap();
}

#[tokio::test]
async fn a_refusal_says_how_long_to_stay_away() {
    let cluster = TestCluster::start().await;
    let busy = Refusal::too_many_requests().retry_after(Duration::from_millis(2_500));
    cluster.faults().on(Requests::all()).answer(busy);
    let request = http::Request::get("/api/v1/namespaces").body(kube::client::Body::empty());
    let answer = cluster.client_under_test().send(request.unwrap()).await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "3");
    let body = answer.into_body().collect_bytes().await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["details"]["retryAfterSeconds"], 3);
}

#[tokio::test]
async fn a_connection_that_breaks_behind_a_request_leaves_its_work_done() {
    let cluster = TestCluster::start().await;
    let faults = cluster.faults();
    faults.on(Requests::all().writes()).once().unreachable();
    faults.on(Requests::all().writes()).once().reset();
    let (maps, parameters) = (maps(&cluster), PostParams::default());
    assert!(maps.create(&parameters, &map("a")).await.is_err());
    assert!(cluster.get::<ConfigMap>("a").await.is_none());
    assert!(maps.create(&parameters, &map("a")).await.is_err());
    assert!(cluster.get::<ConfigMap>("a").await.is_some());
    let status = refused(maps.create(&parameters, &map("a")).await);
    assert_eq!(status.reason, "AlreadyExists");
}

/// What a watch tells: the names of objects, the codes of errors, and how it ends.
async fn told(
    watch: &mut (impl futures::Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Unpin),
) -> String {
    use futures::StreamExt as _;
    // A real API server tells how far it is at once, or later.
    let news = watch.filter(|event| {
        let is_news = !matches!(event, Ok(WatchEvent::Bookmark(_)));
        async move { is_news }
    });
    let next = tokio::time::timeout(Duration::from_secs(5), Box::pin(news).next()).await;
    match next {
        Err(_) => "silence".to_owned(),
        Ok(None) => "end".to_owned(),
        Ok(Some(Err(_))) => "broken".to_owned(),
        Ok(Some(Ok(WatchEvent::Error(status)))) => status.code.to_string(),
        Ok(Some(Ok(WatchEvent::Added(map)))) => map.name_any(),
        Ok(Some(Ok(other))) => format!("{other:?}"),
    }
}

#[tokio::test]
async fn open_watches_end_as_they_are_told() {
    let cluster = TestCluster::start().await;
    for (number, (end, last)) in [
        (End::Clean, "end"),
        (End::Broken, "broken"),
        (End::Error(Refusal::gone()), "410"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("map-{number}");
        let only = WatchParams::default().fields(&format!("metadata.name={name}"));
        let mut watch = Box::pin(maps(&cluster).watch(&only, "0").await.unwrap());
        cluster.create(&map(&name)).await.expect_allowed();
        assert_eq!(told(&mut watch).await, name);
        let faults = cluster.faults();
        faults.end_watches(&Requests::of::<Secret>(), &end);
        faults.end_watches(&Requests::of::<ConfigMap>().named(&name), &end);
        assert_eq!(told(&mut watch).await, last);
    }
}

#[tokio::test]
async fn a_watch_is_granted_and_refused_within() {
    let cluster = TestCluster::start().await;
    cluster.faults().refuse_streamed_lists();
    let maps = maps(&cluster);
    let streamed = WatchParams {
        send_initial_events: true,
        ..WatchParams::default()
    };
    let mut watch = Box::pin(maps.watch(&streamed, "").await.unwrap());
    assert_eq!(told(&mut watch).await, "500");
    assert_eq!(told(&mut watch).await, "end");
    // Others are what they were.
    let list = maps.list(&kube::api::ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let plain = maps.watch(&WatchParams::default(), &version).await;
    cluster.create(&map("a")).await.expect_allowed();
    assert_eq!(told(&mut Box::pin(plain.unwrap())).await, "a");
}

#[tokio::test]
async fn an_answer_is_cut_where_it_was_said() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let gets = || Requests::of::<ConfigMap>().verb("get");
    cluster
        .faults()
        .on(gets())
        .once()
        .end_after(10, End::Broken);
    cluster.faults().on(gets()).once().end_after(10, End::Clean);
    let get = async || {
        let path = format!("/api/v1/namespaces/{}/configmaps/a", cluster.namespace());
        let request = http::Request::get(path).body(kube::client::Body::empty());
        let answer = cluster.client_under_test().send(request.unwrap()).await;
        answer.unwrap().into_body().collect_bytes().await
    };
    assert!(get().await.is_err());
    assert_eq!(get().await.unwrap().len(), 10);
    assert!(get().await.unwrap().len() > 10);
}

#[tokio::test]
async fn what_was_sent_is_told_without_what_was_in_it() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster);
    maps.create(&PostParams::default(), &map("a"))
        .await
        .unwrap();
    let change = json!({"data": {"key": "top-secret-value"}});
    let change = Patch::Merge(&change);
    let parameters = PatchParams::default();
    maps.patch("a", &parameters, &change).await.unwrap();
    cluster.faults().conflict_once::<ConfigMap>();
    maps.patch("a", &parameters, &change).await.unwrap_err();
    cluster.faults().on(Requests::all()).once().unreachable();
    drop(maps.get("a").await.unwrap_err());
    let place = format!("in the namespace `{}`", cluster.namespace());
    let sent = cluster.sent(&Requests::of::<ConfigMap>());
    let said: Vec<String> = sent.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            format!("create configmaps {place}: 201"),
            format!("patch configmaps `a` {place}: 200"),
            format!("patch configmaps `a` {place}: 409"),
            format!("get configmaps `a` {place}: no answer"),
        ]
    );
    assert!(!format!("{sent:?} {:?}", cluster.faults()).contains("top-secret"));
    let writes = cluster.sent(&Requests::of::<ConfigMap>().writes());
    assert_eq!(writes.len(), 3);
    assert!(writes.iter().all(kubewright_testing::Sent::is_write));
    cluster.forget_sent();
    assert_eq!(cluster.sent(&Requests::all()).len(), 0);
    drop(maps.get("a").await.unwrap());
    assert_eq!(cluster.sent(&Requests::all())[0].status(), Some(200));
}

/// A program with a cache, which the test gets to see.
fn reader(cached: std::sync::mpsc::Sender<Cached<ConfigMap>>) -> impl FnOnce(&mut Needs) -> App {
    move |needs| {
        cached.send(needs.cached()).unwrap();
        App::new("reader")
    }
}

#[tokio::test]
async fn faults_that_are_made_first_are_there_when_a_program_starts() {
    let faults = Faults::new();
    faults.refuse_streamed_lists();
    let (sender, cached) = std::sync::mpsc::channel();
    let builder = TestCluster::builder().faults(&faults).app(reader(sender));
    let cluster = builder.start().await;
    let verbs: Vec<String> = cluster
        .sent(&Requests::of::<ConfigMap>())
        .iter()
        .map(|sent| sent.request().verb.clone())
        .collect();
    assert_eq!(verbs[..2], ["watch", "list"]);
    let cached = cached.recv().unwrap();
    cluster.create(&map("a")).await.expect_allowed();
    let namespace = cluster.namespace().to_owned();
    eventually("the map", async || {
        cached.get((namespace.as_str(), "a")).await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_cluster_has_started_when_its_programs_know_all_that_is_there() {
    let faults = Faults::new();
    // What is not waited for would be missing below.
    faults
        .on(Requests::all().watches())
        .slow(Duration::from_millis(50));
    let (sender, cached) = std::sync::mpsc::channel();
    let builder = TestCluster::builder().faults(&faults).app(reader(sender));
    let _cluster = builder.start().await;
    let known = cached.recv().unwrap().entries();
    assert!(!known.is_empty(), "there is a ConfigMap in every cluster");
}
