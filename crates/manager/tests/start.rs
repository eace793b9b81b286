//! How a program starts, runs and ends.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::Pod;
use kubewright_controller::{Action, Cached, Context, Controller};
use kubewright_manager::metrics::{Counter, Gauge};
use kubewright_manager::{App, Live, Members, Needs, StartError};
use kubewright_manifests::Endpoint;
use kubewright_webhook::{Change, Delete, Mutated, Review, Webhooks, mutating};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{LOCAL, certificates, program};

async fn same(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    Ok(change.into_object())
}

fn app(_: &mut Needs) -> App {
    App::new("policy").webhooks(Webhooks::new("example.com").with(mutating("same", same)))
}

#[tokio::test]
async fn a_program_listens_until_it_is_told_to_end() {
    let serving = program(app).bind(LOCAL, certificates()).await.unwrap();
    let address = serving.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(serving.run(async { drop(stopped.await) }));
    assert!(TcpStream::connect(address).await.is_ok());
    drop(stop);
    running.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn manifests_of_a_running_program_trust_its_certificate() {
    let serving = program(app).bind(LOCAL, certificates()).await.unwrap();
    let url = format!("https://{}", serving.local_addr());
    let manifests = serving.manifests(Endpoint::url(&url).unwrap()).unwrap();
    let configuration = &manifests.objects()[0];
    assert_eq!(configuration["metadata"]["name"], "policy");
    let client = &configuration["webhooks"][0]["clientConfig"];
    assert_eq!(client["url"], format!("{url}/same"));
    assert_eq!(client["caBundle"], serving.trust().to_ca_bundle());
}

#[tokio::test]
async fn the_configuration_can_have_a_name_of_its_own() {
    let program = program(|needs| app(needs).webhook_configuration_name("legacy"));
    let manifests = program
        .manifests(Endpoint::service("blue/policy").unwrap(), None)
        .unwrap();
    assert_eq!(manifests.objects()[0]["metadata"]["name"], "legacy");
}

#[tokio::test]
async fn configuration_is_loaded_before_the_first_call_and_followed_while_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("words.yaml");
    fs::write(&path, "[one]").unwrap();
    let mut words: Option<Live<Vec<String>>> = None;
    let program = program(|needs| {
        words = Some(needs.file(&path, Vec::new()));
        app(needs)
    });
    let mut words = words.unwrap();
    assert!(
        words.current().is_empty(),
        "nothing is read before the start"
    );

    let serving = program.bind(LOCAL, certificates()).await.unwrap();
    assert_eq!(*words.next().await, ["one"]);

    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(serving.run(async { drop(stopped.await) }));
    fs::write(&path, "[one, two]").unwrap();
    assert_eq!(*words.next().await, ["one", "two"]);
    drop(stop);
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn manifests_need_no_configuration() {
    let program = program(|needs| {
        let _words: Live<Vec<String>> = needs.file("/nowhere/words.yaml", Vec::new());
        app(needs)
    });
    assert!(
        program
            .manifests(Endpoint::service("blue/policy").unwrap(), None)
            .is_ok()
    );
}

#[tokio::test]
async fn a_program_with_bad_configuration_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("words.yaml");
    fs::write(&path, "{one").unwrap();
    let program = program(|needs| {
        let _words: Live<Vec<String>> = needs.file(&path, Vec::new());
        app(needs)
    });
    let refused = program.bind(LOCAL, certificates()).await.unwrap_err();
    assert!(
        matches!(refused, StartError::Configuration(_)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_program_whose_webhooks_cannot_work_does_not_start() {
    let program = program(|needs| {
        app(needs).webhooks(Webhooks::new("example.com").with(mutating("same", same).on([Delete])))
    });
    let refused = program.bind(LOCAL, certificates()).await.unwrap_err();
    assert!(matches!(refused, StartError::Webhooks(_)), "{refused:?}");
}

#[tokio::test]
async fn a_program_that_works_with_a_cluster_does_not_start_without_a_client() {
    let program = program(|needs| {
        let _pods: Cached<Pod> = needs.cached();
        App::new("pods")
    });
    assert!(program.needs_client());
    let refused = program.start().await.unwrap_err();
    assert!(matches!(refused, StartError::NoClient), "{refused:?}");
}

#[tokio::test]
async fn a_program_does_not_start_with_two_fleets_of_one_name() {
    let twice = |needs: &mut Needs| {
        for selector in ["a", "b"] {
            needs.fleet("west", Members::from_secrets(selector), |_| ());
        }
        App::new("census")
    };
    let refused = program(twice).start().await.unwrap_err();
    let why = "cannot work in other clusters: two clusters or fleets are named `west`";
    assert_eq!(refused.to_string(), why);
}

#[tokio::test]
async fn a_program_does_not_start_with_a_sharded_controller_in_another_cluster() {
    let reconcile = |_: Arc<Pod>, _: Context| async { Ok(Action::await_change()) };
    let sharded = move |needs: &mut Needs| {
        needs.fleet("west", Members::from_secrets("a"), move |cluster| {
            cluster.controller(Controller::new("maps", reconcile).sharded(4));
        });
        App::new("census")
    };
    let refused = program(sharded).start().await.unwrap_err();
    let why = "cannot share the objects of the controller `maps`: in other clusters one replica reconciles all of them; remove `sharded`";
    assert_eq!(refused.to_string(), why);
}

#[tokio::test]
async fn a_program_with_webhooks_does_not_start_without_a_server() {
    let refused = program(app).start().await.unwrap_err();
    assert!(matches!(refused, StartError::NoServer), "{refused:?}");
}

#[tokio::test]
async fn a_program_is_ready_when_its_caches_are_complete_and_not_before() {
    let (open, opened) = tokio::sync::watch::channel(false);
    let api_server = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        let mut opened = opened.clone();
        async move {
            opened.wait_for(|opened| *opened).await.unwrap();
            let end = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
            Ok::<_, std::io::Error>(http::Response::new(format!("{end}\n")))
        }
    });
    let program = program(|needs| {
        let _pods: Cached<Pod> = needs.cached();
        App::new("pods")
    });
    let started = program
        .client(kube::Client::new(api_server, "default"))
        .start()
        .await
        .unwrap();
    let readiness = started.readiness();
    let running = tokio::spawn(started.run(std::future::pending()));
    tokio::task::yield_now().await;
    assert_eq!(
        readiness.conditions(),
        [("caches".to_owned(), false), ("shutdown".to_owned(), true)]
    );
    open.send_replace(true);
    while !readiness.is_ready() {
        tokio::task::yield_now().await;
    }
    running.abort();
}

/// A text whose reader has a mistake in it.
#[derive(Default)]
struct Fragile;

impl<'de> serde::Deserialize<'de> for Fragile {
    fn deserialize<D: serde::Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let text = String::deserialize(text)?;
        assert_ne!(text, "break", "on purpose");
        Ok(Self)
    }
}

#[tokio::test]
async fn a_program_of_which_a_part_has_panicked_ends_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("word.yaml");
    for has_webhooks in [true, false] {
        fs::write(&path, "good").unwrap();
        let program = program(|needs| {
            let _words: Live<Fragile> = needs.file(&path, Fragile);
            if has_webhooks {
                app(needs)
            } else {
                App::new("words")
            }
        });
        let forever = std::future::pending();
        let (readiness, running) = if has_webhooks {
            let serving = program.bind(LOCAL, certificates()).await.unwrap();
            (serving.readiness(), tokio::spawn(serving.run(forever)))
        } else {
            let started = program.start().await.unwrap();
            (started.readiness(), tokio::spawn(started.run(forever)))
        };
        while !readiness.is_ready() {
            tokio::task::yield_now().await;
        }
        fs::write(&path, "break").unwrap();
        let ended = running.await.unwrap().unwrap_err();
        assert_eq!(
            ended.to_string(),
            "cannot go on: the configuration has panicked"
        );
        assert!(!readiness.is_ready());
    }
}

#[tokio::test]
async fn a_program_whose_port_is_taken_does_not_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let refused = program(app)
        .bind(address, certificates())
        .await
        .unwrap_err();
    assert!(matches!(refused, StartError::Server(_)), "{refused:?}");
}

#[tokio::test]
async fn a_program_answers_calls_until_its_last_reconcile_is_done() {
    let (begin, mut begun) = tokio::sync::mpsc::channel(1);
    let (finish, finished) = tokio::sync::watch::channel(false);
    let reconcile = move |_: Arc<Pod>, _: Context| {
        let (begin, mut finished) = (begin.clone(), finished.clone());
        async move {
            let _ = begin.send(()).await;
            drop(finished.wait_for(|finished| *finished).await);
            Ok(Action::await_change())
        }
    };
    let api_server = tower::service_fn(async |_: http::Request<kube::client::Body>| {
        let pod = r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"}}}"#;
        let end = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        Ok::<_, std::io::Error>(http::Response::new(format!("{pod}\n{end}\n")))
    });
    let program = program(|needs| app(needs).controller(Controller::new("pods", reconcile)));
    let serving = program
        .client(kube::Client::new(api_server, "default"))
        .bind(LOCAL, certificates())
        .await
        .unwrap();
    let (address, readiness) = (serving.local_addr(), serving.readiness());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(serving.run(async { drop(stopped.await) }));
    begun.recv().await.unwrap();
    drop(stop);
    while readiness.is_ready() {
        tokio::task::yield_now().await;
    }
    assert!(TcpStream::connect(address).await.is_ok());
    finish.send_replace(true);
    running.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

async fn read(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn probes_and_metrics_are_answered_on_a_port_of_their_own_from_the_start() {
    let is_warm = Arc::new(AtomicBool::new(false));
    let warm = Arc::clone(&is_warm);
    let program = program(|needs| {
        app(needs)
            .readiness_check("warm", move || warm.load(Ordering::SeqCst))
            .liveness_check("worker", || true)
    });
    let serving = program
        .metrics_bind_address(LOCAL)
        .bind(LOCAL, certificates())
        .await
        .unwrap();
    let address = serving.metrics_addr().unwrap();
    assert!(
        read(address, "/livez/worker")
            .await
            .starts_with("HTTP/1.1 200")
    );
    let waiting = read(address, "/readyz").await;
    assert!(waiting.starts_with("HTTP/1.1 503"), "{waiting}");
    for line in [
        "[-]warm failed",
        "[-]caches failed",
        "[-]serving failed",
        "[+]certificate ok",
    ] {
        assert!(waiting.contains(line), "{waiting}");
    }
    let readiness = serving.readiness();
    let running = tokio::spawn(serving.run(std::future::pending()));
    is_warm.store(true, Ordering::SeqCst);
    while !readiness.is_ready() {
        tokio::task::yield_now().await;
    }
    assert!(read(address, "/readyz").await.ends_with("\r\n\r\nok"));
    let metrics = read(address, "/metrics").await;
    assert!(
        metrics.contains("application/openmetrics-text; version=1.0.0"),
        "{metrics}"
    );
    assert!(
        metrics.contains("kubewright_certificate_not_after_seconds{certificate=\"server\"}"),
        "{metrics}"
    );
    assert!(read(address, "/same").await.starts_with("HTTP/1.1 404"));
    running.abort();
}

#[tokio::test]
async fn metrics_of_the_programs_own_are_on_the_page_of_all() {
    let mut registered = None;
    let started = program(|needs| {
        let metrics = needs.metrics();
        let taken: Counter = metrics.register("backups", "Number of backups", Counter::default());
        let sizes =
            metrics.register_family("size_bytes", "Size of a database", ["database"], || {
                Gauge::<i64>::default()
            });
        registered = Some((taken, sizes));
        App::new("keeper")
    })
    .metrics_bind_address(LOCAL)
    .start()
    .await
    .unwrap();
    let (taken, sizes) = registered.unwrap();
    taken.inc();
    sizes.with_label_values(["orders"]).set(70_000);
    let page = read(started.metrics_addr().unwrap(), "/metrics").await;
    for line in [
        "# TYPE backups counter",
        "backups_total 1",
        "size_bytes{database=\"orders\"} 70000",
        "# TYPE process_open_fds gauge",
    ] {
        assert!(page.contains(&format!("\n{line}\n")), "{page}");
    }
    assert!(page.ends_with("\n# EOF\n"), "{page}");
    assert_eq!(page.matches("# EOF").count(), 1, "{page}");
}

#[tokio::test]
async fn a_program_with_a_metric_that_cannot_be_registered_does_not_start() {
    let refused = program(|needs| {
        let _: Counter = needs
            .metrics()
            .register("workqueue_depth", "Depth", Counter::default());
        App::new("keeper")
    });
    let error = refused.start().await.unwrap_err();
    assert!(matches!(error, StartError::Metrics(_)), "{error}");
}

#[tokio::test]
async fn health_probes_have_an_address_of_their_own_if_one_is_set() {
    let serving = program(app)
        .metrics_bind_address(LOCAL)
        .health_probe_bind_address(SocketAddr::from(([127, 0, 0, 2], 0)))
        .bind(LOCAL, certificates())
        .await
        .unwrap();
    let (metrics, probes) = (serving.metrics_addr(), serving.health_probe_addr());
    let (metrics, probes) = (metrics.unwrap(), probes.unwrap());
    assert_ne!(metrics, probes);
    for (address, path, status) in [
        (metrics, "/metrics", "200"),
        (metrics, "/livez", "404"),
        (probes, "/metrics", "404"),
        (probes, "/livez", "200"),
    ] {
        let answer = read(address, path).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {answer}"
        );
    }
}

#[tokio::test]
async fn health_probes_are_served_without_metrics() {
    let program = program(app).health_probe_bind_address(LOCAL);
    let serving = program.bind(LOCAL, certificates()).await.unwrap();
    assert_eq!(serving.metrics_addr(), None);
    let probes = serving.health_probe_addr().unwrap();
    assert!(read(probes, "/livez").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn equal_addresses_of_metrics_and_health_probes_share_one_listener() {
    let program = program(app).metrics_bind_address(LOCAL);
    let program = program.health_probe_bind_address(LOCAL);
    let serving = program.bind(LOCAL, certificates()).await.unwrap();
    assert_eq!(serving.metrics_addr(), serving.health_probe_addr());
    assert!(serving.metrics_addr().is_some());
}
