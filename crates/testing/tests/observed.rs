//! What a program with controllers tells those who watch over it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::{Api, ResourceExt};
use kubewright_controller::{Action, Context, Controller, Error, LeaderElection, Writer};
use kubewright_manager::{App, Needs, Program};
use kubewright_testing::{TestCluster, eventually, unique, yaml};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// A program that fails, panics, gives up or is content, as the name of a ConfigMap says.
fn app(lease: &str, needs: &mut Needs) -> App {
    let writer: Writer<ConfigMap> = needs.writer();
    let reconcile = move |map: Arc<ConfigMap>, context: Context| {
        let writer = writer.clone();
        async move {
            let name = map.name_any();
            match name.as_str() {
                "fails" if context.failures() == 0 => Err(Error::retry("not yet")),
                "panics" if context.failures() == 0 => panic!("as its name says"),
                "gives-up" => Err(Error::terminal("never")),
                "writes" if map.data.is_none() => {
                    let mut map = (*map).clone();
                    map.data = Some([("written".to_owned(), "yes".to_owned())].into());
                    writer.replace(&map).await?;
                    Ok(Action::await_change())
                }
                _ => Ok(Action::await_change()),
            }
        }
    };
    App::new("observed")
        .controller(Controller::new("maps", reconcile).concurrency(2))
        .leader_election(LeaderElection::by_lease(lease).identity("me"))
}

/// The series of the page, with their values.
async fn series(address: SocketAddr) -> BTreeMap<String, f64> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let lines = answer.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

#[tokio::test]
async fn queues_reconciles_calls_caches_and_elections_are_counted_by_the_names_of_dashboards() {
    let cluster = TestCluster::start().await;
    let lease = unique("observed");
    for name in ["fails", "panics", "gives-up", "writes", "content"] {
        let map: ConfigMap = yaml(&format!("{{metadata: {{name: {name}}}}}"));
        cluster.create(&map).await.expect_allowed();
    }
    let started = Program::new(|needs| app(&lease, needs))
        .client(cluster.client())
        .metrics_bind_address(([127, 0, 0, 1], 0))
        .start()
        .await
        .unwrap();
    let address = started.metrics_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(started.run(async { drop(stopped.await) }));

    let queue = |name: &str| format!("{name}{{name=\"maps\",controller=\"maps\"}}");
    let ended = |outcome: &str| {
        format!("kubewright_reconciles_total{{controller=\"maps\",outcome=\"{outcome}\"}}")
    };
    let series = eventually("the reconciles", async || {
        let series = series(address).await;
        let count = |outcome| series.get(&ended(outcome)).copied().unwrap_or_default();
        // The one that failed, the one that panicked, the one that was content and both of the one that wrote.
        let is_done = count("done") >= 5.0
            && count("failed") >= 1.0
            && count("panicked") >= 1.0
            && count("terminal") >= 1.0;
        is_done.then_some(series)
    })
    .await;
    for (name, least) in [
        ("workqueue_adds_total", 8.0),
        ("workqueue_work_duration_seconds_count", 8.0),
        ("workqueue_queue_duration_seconds_count", 8.0),
        ("workqueue_retries_total", 2.0),
        ("kubewright_reconcile_workers", 2.0),
    ] {
        assert!(series[&queue(name)] >= least, "{name}: {series:#?}");
    }
    for name in [
        "workqueue_depth",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "kubewright_reconcile_workers_active",
        "kubewright_reconcile_rate_limited_seconds_total",
    ] {
        assert!(series.contains_key(&queue(name)), "{name}: {series:#?}");
    }
    for (name, value) in [
        (
            format!("leader_election_master_status{{name=\"{lease}\"}}"),
            1.0,
        ),
        (
            "kubewright_cache_lists_total{kind=\"configmaps\"}".to_owned(),
            1.0,
        ),
        (
            "rest_client_requests_total{code=\"200\",method=\"PUT\",verb=\"update\"}".to_owned(),
            1.0,
        ),
        (
            "rest_client_request_duration_seconds_count{verb=\"update\"}".to_owned(),
            1.0,
        ),
    ] {
        assert!(
            series.get(&name).is_some_and(|told| *told >= value),
            "{name}: {series:#?}"
        );
    }

    let events: Api<Event> = Api::namespaced(cluster.client(), cluster.namespace());
    let leases: Api<Lease> = Api::namespaced(cluster.client(), cluster.namespace());
    let uid = leases.get(&lease).await.unwrap().uid();
    let notes = async || {
        let events = events
            .list(&kube::api::ListParams::default())
            .await
            .unwrap();
        let of_lease = events.into_iter().filter(|event| {
            let regarding = event.regarding.clone().unwrap_or_default();
            regarding.kind.as_deref() == Some("Lease") && regarding.uid == uid
        });
        of_lease
            .map(|event| {
                assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
                assert_eq!(event.type_.as_deref(), Some("Normal"));
                event.note.unwrap_or_default()
            })
            .collect::<Vec<_>>()
    };
    eventually("the event", async || {
        (notes().await == ["me became leader"]).then_some(())
    })
    .await;
    drop(stop);
    running.await.unwrap().unwrap();
    let mut notes = notes().await;
    notes.sort_unstable();
    assert_eq!(notes, ["me became leader", "me stopped leading"]);
}
