//! The guide's page about metrics, made from what a program with everything tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_certificates::SharedAuthority;
use kubewright_controller::{Action, Cached, Context, Controller, Error};
use kubewright_manager::{App, Live, Needs, Program, Task, TaskContext};
use kubewright_manifests::Endpoint;
use kubewright_testing::{Server, TestCluster, eventually, yaml};
use kubewright_webhook::{Change, Mutated, Review, Webhooks, mutating};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

const HEAD: &str = "\
# Metrics

What a program tells Prometheus; this page is made from the `/metrics` of a program that has everything. `--metrics-bind-address ADDRESS` opens
the port. Times are in seconds and sizes in bytes, as their names say. A counter is queried by the name in this table; a histogram has `NAME_bucket`, `NAME_count` and `NAME_sum`.

What a program does not have, such as controllers, it tells nothing of. Labels hold names that the program chose, or one of a few
words: no user, no path, and no name of an object that others have made, but for the clusters of a fleet. Of the kinds that callers name, the first 64 are counted by
name and the rest as `other`.

| metric | type | labels | |
|---|---|---|---|
";

/// What the labels say.
const LABELS: [(&str, &str); 19] = [
    (
        "certificate",
        "`server`, or `authority` where the program has one of its own",
    ),
    (
        "cluster",
        "The name of another cluster: of the first hundred by name",
    ),
    ("code", "The status of an answer; `<error>` where none came"),
    ("controller", "The name of a controller"),
    (
        "decision",
        "How a review ended: `allowed`, `changed`, `denied` or `failed`",
    ),
    ("dry_run", "Whether nothing was to be stored"),
    (
        "kind",
        "What a review is about, such as `Pod`; of caches the resource, such as `pods`",
    ),
    ("method", "The method of a call"),
    (
        "mode",
        "Whether a decision takes effect, `enforce`, or not, `shadow`",
    ),
    (
        "name",
        "As in client-go: the name of a queue, which is that of its controller, or of a Lease",
    ),
    (
        "object",
        "The kind and the name of an object that leads API servers to the program",
    ),
    ("operation", "`CREATE`, `UPDATE`, `DELETE` or `CONNECT`"),
    (
        "outcome",
        "How a reconcile ended: `done`, `again`, `gone`, `failed`, `panicked` or `terminal`; of a task also `cut`; of a configuration `used` or `refused`",
    ),
    (
        "phase",
        "Of a rotation: `stable`, `publishing`, `settling` or `retiring`",
    ),
    (
        "place",
        "Where a configuration is: a file, or a key of a ConfigMap",
    ),
    (
        "state",
        "Of another cluster: `connecting`, `ready` or `unreachable`",
    ),
    ("task", "The name of a task"),
    (
        "verb",
        "What was asked of the API server, such as `get`, `list` or `watch`",
    ),
    ("webhook", "The name of a hook"),
];

const TAIL: &str = "
## Under the names of client-go, and others

`workqueue_…`, `rest_client_…` and `leader_election_…` are the names of client-go, so that dashboards made for controller-runtime show
these programs, too. The chapter on [programs](programs.md#probes-and-metrics) lists the names that differ.
";

async fn team(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut pod = change.into_object();
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert("team".to_owned(), "blue".to_owned());
    Ok(pod)
}

fn app(needs: &mut Needs) -> App {
    let settings: Live<Vec<String>> = needs.config_map("settings", "names.yaml", Vec::new());
    let maps: Cached<ConfigMap> = needs.cached();
    drop(needs.cluster("east").cached::<ConfigMap>());
    let look = move |_: Arc<ConfigMap>, _: Context| {
        let _held = (settings.current(), maps.clone());
        std::future::ready(Ok::<_, Error>(Action::await_change()))
    };
    App::new("everything")
        .webhooks(Webhooks::new("example.com").with(mutating("team", team)))
        .certificates(SharedAuthority::in_secret("everything-certs").for_service("everything"))
        .controller(Controller::new("maps", look.clone()))
        .controller(Controller::new("more-maps", look).sharded(4))
        .task(Task::on_leader("report", |_: TaskContext| {
            std::future::ready(Ok(()))
        }))
        .leader_election("everything")
}

async fn page(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// What a page says of one metric.
#[derive(Debug, Default)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
    is_seen: bool,
}

/// The metrics of a page by the names that Prometheus has them under.
fn metrics(page: &str) -> BTreeMap<String, Metric> {
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    let mut last = String::new();
    for line in page.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|l| l.split_once(' ')) {
            name.clone_into(&mut last);
            metrics.entry(last.clone()).or_default().help = help.trim_end_matches('.').to_owned();
        } else if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|l| l.split_once(' '))
        {
            kind.clone_into(&mut metrics.entry(last.clone()).or_default().kind);
        } else if let Some((series, _)) = line.rsplit_once(' ')
            && !line.starts_with('#')
            && series.starts_with(&last)
            && !last.is_empty()
        {
            let metric = metrics.entry(last.clone()).or_default();
            metric.is_seen = true;
            let labels = series.split_once('{').map_or("", |(_, labels)| labels);
            let labels = labels.split(',').filter_map(|label| label.split_once('='));
            let labels = labels.map(|(label, _)| label.to_owned());
            metric.labels.extend(labels.filter(|label| label != "le"));
        }
    }
    let suffixed = metrics.into_iter().map(|(name, metric)| {
        let suffix = if metric.kind == "counter" {
            "_total"
        } else {
            ""
        };
        (format!("{name}{suffix}"), metric)
    });
    suffixed.collect()
}

#[tokio::test]
async fn the_page_of_the_guide_has_every_metric_that_a_program_tells() {
    let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    let settings: ConfigMap = yaml("{metadata: {name: settings}, data: {names.yaml: '[a]'}}");
    cluster.create(&settings).await.expect_allowed();
    let program = Program::new(app)
        .client(cluster.client_under_test())
        .reached_as(["127.0.0.1"])
        .metrics_bind_address(LOCAL);
    let serving = program.bind_with_authority(LOCAL).await.unwrap();
    let address = serving.metrics_addr().unwrap();
    let endpoint = Endpoint::url(&format!("https://{}", serving.local_addr())).unwrap();
    for object in serving.manifests(endpoint).unwrap().objects() {
        cluster.apply(object).await.expect_allowed();
    }
    let mut running = JoinSet::new();
    running.spawn(async move { serving.run(std::future::pending()).await.unwrap() });

    // The webhook is believed as soon as its trust is published.
    let pod: Pod =
        yaml("{metadata: {generateName: web-}, spec: {containers: [{name: web, image: nginx}]}}");
    eventually("a pod of a team", async || {
        let pods = kube::Api::<Pod>::default_namespaced(cluster.client());
        pods.create(&kube::api::PostParams::default(), &pod)
            .await
            .ok()?
            .metadata
            .labels
    })
    .await;
    let metrics = eventually("all metrics", async || {
        let metrics = metrics(&page(address).await);
        metrics
            .values()
            .all(|metric| metric.is_seen)
            .then_some(metrics)
    })
    .await;

    let mut made = HEAD.to_owned();
    for (
        name,
        Metric {
            kind, help, labels, ..
        },
    ) in &metrics
    {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        writeln!(
            made,
            "| `{name}` | {kind} | {} | {help} |",
            labels.join(", ")
        )
        .unwrap();
    }
    made.push_str("\n| label | |\n|---|---|\n");
    for (label, meaning) in LABELS {
        writeln!(made, "| `{label}` | {meaning} |").unwrap();
    }
    made.push_str(TAIL);
    let told: BTreeSet<&str> = metrics
        .values()
        .flat_map(|metric| &metric.labels)
        .map(String::as_str)
        .collect();
    assert_eq!(
        told,
        LABELS.map(|(label, _)| label).into(),
        "labels of metrics, and those described here"
    );
    reference::hold("metrics.md", &made, "kubewright-testing", "metrics_page");
}
