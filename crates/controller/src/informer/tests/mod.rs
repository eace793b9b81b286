//! An informer and everything that can go wrong between it and an API server.

mod cluster;
mod indexes;
mod readers;
mod rows;
mod server;
mod simulation;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::{TestCluster, eventually};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Informer, Informers, Subscription};
use crate::sync::{Mutex, locked};
use crate::{Kind, Scope};
use server::{End, Fault, Server};

/// An informer at work, and what it has told.
struct Following {
    informer: Informer,
    told: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
    _tasks: JoinSet<()>,
}

impl Following {
    fn start(client: kube::Client) -> Self {
        Self::within(Scope::all(), client)
    }

    fn within(scope: Scope, client: kube::Client) -> Self {
        let informers = Informers::new();
        let informer = informers.informer(Kind::of::<ConfigMap>(), scope);
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let subscription = informer.subscribe(move |delta| {
            let version =
                |entry: &Arc<super::Entry>| entry.metadata().resource_version().to_owned();
            let text = match (&delta.old, &delta.new) {
                (None, Some(new)) => format!("+{}@{}", new.key().name(), version(new)),
                (Some(_), Some(new)) => format!("~{}@{}", new.key().name(), version(new)),
                (Some(old), None) => format!("-{}", old.key().name()),
                (None, None) => "nothing".to_owned(),
            };
            locked(listener.lock()).push(text);
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { informers.run(client).await });
        Self {
            informer,
            told,
            _subscription: subscription,
            _tasks: tasks,
        }
    }

    fn versions(&self) -> BTreeMap<String, String> {
        let entries = self.informer.select(|_| true);
        let version = |entry: Arc<super::Entry>| {
            (
                entry.key().name().to_owned(),
                entry.metadata().resource_version().to_owned(),
            )
        };
        entries.into_iter().map(version).collect()
    }

    async fn converges_to(&self, server: &Server) {
        eventually("the state of the server", async || {
            (self.versions() == server.versions()).then_some(())
        })
        .await;
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *locked(self.told.lock()))
    }
}

#[tokio::test(start_paused = true)]
async fn one_request_lists_and_watches() {
    let server = Server::with(["a", "b"]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    assert_eq!(following.versions(), server.versions());
    server.set("c");
    server.set("a");
    server.delete("b");
    following.converges_to(&server).await;
    assert_eq!(following.told(), ["+a@2", "+b@3", "+c@4", "~a@5", "-b"]);
    assert_eq!(server.requests(), ["stream"]);
}

#[tokio::test(start_paused = true)]
async fn wherever_a_watch_is_cut_no_event_is_lost_and_none_comes_twice() {
    // 900 bytes are all lines of the list and the watch; beyond, nothing is cut.
    for end in [End::Clean, End::Broken] {
        for bytes in 0..900 {
            let server = Server::with(["a", "b"]);
            server.fail([Fault::Cut(bytes, end), Fault::Cut(bytes / 2, end)]);
            let following = Following::start(server.client());
            following.informer.synced().await;
            server.set("c");
            server.set("a");
            server.delete("b");
            following.converges_to(&server).await;
            let told = following.told();
            let news: Vec<&str> = told.iter().map(String::as_str).collect();
            assert_eq!(
                news,
                ["+a@2", "+b@3", "+c@4", "~a@5", "-b"],
                "{end:?} after {bytes}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_stream_lists_is_asked_for_pages() {
    let invalid =
        json!({"code": 422, "reason": "Invalid", "message": "sendInitialEvents: Forbidden"});
    for fault in [
        Fault::Status(StatusCode::UNPROCESSABLE_ENTITY, invalid, None),
        Fault::Status(StatusCode::BAD_REQUEST, json!({}), None),
        Fault::Error(json!({"code": 500, "message": "etcd cannot request progress"})),
        Fault::Cut(0, End::Clean),
        Fault::Cut(150, End::Broken),
    ] {
        let server = Server::with(1000..2200);
        server.fail([fault.clone()]);
        let start = Instant::now();
        let following = Following::start(server.client());
        following.informer.synced().await;
        assert!(start.elapsed() < Duration::from_secs(2), "{fault:?}");
        server.set("1500");
        following.converges_to(&server).await;
        assert_eq!(
            server.requests(),
            ["stream", "list", "page", "page", "watch 1201"],
            "{fault:?}"
        );
        assert_eq!(following.told().len(), 1201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_goes_silent_is_asked_for_in_pages() {
    let server = Server::with(["a", "b"]);
    server.fail([Fault::Cut(150, End::Silent)]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    assert_eq!(following.versions(), server.versions());
    eventually("a watch", async || {
        server
            .requests()
            .contains(&"watch 3".to_owned())
            .then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn pages_whose_token_has_expired_are_read_from_the_first() {
    let server = Server::with(1000..2200);
    let expired = Fault::Status(
        StatusCode::GONE,
        json!({"code": 410, "reason": "Expired"}),
        None,
    );
    server.fail([
        Fault::Status(StatusCode::BAD_REQUEST, json!({}), None),
        Fault::None,
        expired,
    ]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    assert_eq!(following.versions(), server.versions());
    eventually("a watch", async || {
        (server.requests().last()? == "watch 1201").then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_is_listed_anew_and_only_the_difference_is_told() {
    let gone = json!({"code": 410, "reason": "Expired"});
    for fault in [
        Fault::Status(StatusCode::GONE, gone.clone(), None),
        Fault::Error(gone),
        // A backup was restored: the version of the watch lies in the future.
        Fault::Status(
            StatusCode::GATEWAY_TIMEOUT,
            json!({"code": 504, "reason": "Timeout", "details": {"causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}}),
            None,
        ),
    ] {
        let server = Server::with(["a", "b", "c"]);
        let following = Following::start(server.client());
        following.informer.synced().await;
        following.told();
        server.fail([fault.clone()]);
        server.end_watches();
        server.delete("b");
        server.set("c");
        server.set("d");
        following.converges_to(&server).await;
        assert_eq!(following.told(), ["~c@6", "+d@7", "-b"], "{fault:?}");
        assert_eq!(server.requests(), ["stream", "watch 4", "stream"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_was_away_for_ten_minutes_is_found_within_seconds_and_asked_once() {
    let server = Server::with(["a"]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    server.fail(vec![Fault::Unreachable; 100_000]);
    server.end_watches();
    server.requests();
    sleep(Duration::from_mins(10)).await;
    let tries = server.requests().len();
    assert!(
        (150..400).contains(&tries),
        "{tries} requests in ten minutes"
    );
    server.forgive();
    server.set("b");
    let start = Instant::now();
    following.converges_to(&server).await;
    assert!(start.elapsed() < Duration::from_secs(5));
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("watch "), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_socket_is_noticed() {
    let server = Server::with(["a"]);
    server.fail([Fault::Cut(350, End::Silent)]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    server.set("a");
    server.set("b");
    server.set("c");
    // Twice the longest watch: by then the socket has been left.
    sleep(Duration::from_mins(8)).await;
    assert_eq!(following.versions(), server.versions());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_be_left_alone_is_left_alone_and_not_listed() {
    let busy = |code| Fault::Status(code, json!({"code": 429}), Some(30));
    let server = Server::with(["a"]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    server.requests();
    server.fail([
        busy(StatusCode::TOO_MANY_REQUESTS),
        Fault::Status(StatusCode::INTERNAL_SERVER_ERROR, json!({}), None),
        Fault::Status(StatusCode::BAD_GATEWAY, json!({}), None),
        Fault::Status(StatusCode::SERVICE_UNAVAILABLE, json!({}), None),
        Fault::Error(json!({"code": 500})),
    ]);
    let first = server.end_watches();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(server.requests(), [format!("watch {first}")]);
    server.set("b");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(following.versions(), server.versions());
    assert_eq!(server.requests(), vec![format!("watch {first}"); 5]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_move_the_place_from_which_a_watch_goes_on() {
    let server = Server::with(["a"]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    for _ in 0..10 {
        server.bookmark();
    }
    sleep(Duration::from_millis(1)).await;
    let last = server.end_watches();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        server.requests(),
        ["stream".to_owned(), format!("watch {last}")]
    );
    assert_eq!(following.told(), ["+a@2"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_not_asked_for_without_pause() {
    let server = Server::with(["a"]);
    let following = Following::start(server.client());
    following.informer.synced().await;
    server.fail(vec![Fault::Cut(0, End::Clean); 100_000]);
    server.end_watches();
    sleep(Duration::from_mins(1)).await;
    let requests = server.requests().len();
    assert!(requests < 60, "{requests} requests in a minute");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_leads_to_a_list_and_ends_nothing() {
    for nonsense in [
        "nonsense\n",
        "\n",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n",
        "{\"type\":\"ADDED\"}\n",
        "[]\n",
    ] {
        let server = Server::with(["a"]);
        let following = Following::start(server.client());
        following.informer.synced().await;
        server.fail([Fault::Say(nonsense)]);
        server.end_watches();
        sleep(Duration::from_secs(10)).await;
        server.set("b");
        following.converges_to(&server).await;
        assert_eq!(server.requests().last().unwrap(), "stream", "{nonsense}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_the_same_gets_the_same_informer() {
    let informers = Informers::new();
    let kind = Kind::of::<ConfigMap>;
    let all = informers.informer(kind(), Scope::all());
    let same = informers.informer(kind(), Scope::all());
    let blue = informers.informer(kind(), Scope::all().in_namespace("blue"));
    assert!(Arc::ptr_eq(&all.shared, &same.shared));
    assert!(!Arc::ptr_eq(&all.shared, &blue.shared));
}

#[tokio::test]
async fn a_scope_is_what_the_api_server_is_asked_for() {
    let cluster = TestCluster::start().await;
    cluster.new_namespace("blue", &[]).await;
    for (namespace, name, label) in [
        ("default", "a", "x"),
        ("blue", "a", "x"),
        ("blue", "b", "x"),
        ("blue", "c", "y"),
    ] {
        let map: ConfigMap = kubewright_testing::yaml(&format!(
            "{{metadata: {{namespace: {namespace}, name: {name}, labels: {{label: {label}}}}}}}"
        ));
        cluster.create(&map).await.expect_allowed();
    }
    for (scope, expected) in [
        (
            Scope::all(),
            vec!["blue/a", "blue/b", "blue/c", "default/a"],
        ),
        (
            Scope::all().in_namespace("blue"),
            vec!["blue/a", "blue/b", "blue/c"],
        ),
        (Scope::all().named("a"), vec!["blue/a", "default/a"]),
        (
            Scope::all().labelled("label=x").in_namespace("blue"),
            vec!["blue/a", "blue/b"],
        ),
    ] {
        let informers = Informers::new();
        let informer = informers.informer(Kind::of::<ConfigMap>(), scope);
        let mut tasks = JoinSet::new();
        let client = cluster.client();
        tasks.spawn(async move { informers.run(client).await });
        informer.synced().await;
        let found: Vec<String> = informer
            .select(|_| true)
            .iter()
            .map(|entry| entry.key().to_string())
            .collect();
        let found: Vec<&str> = found
            .iter()
            .map(String::as_str)
            .filter(|key| !key.starts_with("kube-system/"))
            .collect();
        assert_eq!(found, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_goes_back_in_time_is_listed_anew() {
    let added = r#"{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"blue","resourceVersion":"2"}}}"#;
    let bookmark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"3"}}}"#;
    for line in [added, bookmark] {
        let server = Server::with(["a", "b", "c"]);
        let following = Following::start(server.client());
        following.informer.synced().await;
        let line: &'static str = format!("{line}\n").leak();
        server.fail([Fault::Say(line)]);
        server.end_watches();
        server.delete("b");
        following.converges_to(&server).await;
        assert_eq!(server.requests(), ["stream", "watch 4", "stream"], "{line}");
    }
}
