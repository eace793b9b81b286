//! Looking inside a running program: who may, what is seen, and what never is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_certificates::{SelfSigned, TrustBundle};
use kubewright_controller::{Action, Cached, Context, Controller, Error, Scope, Trigger};
use kubewright_manager::{App, Needs, Program, Task, TaskContext};
use kubewright_manifests::{Endpoint, Install, Manifests};
use kubewright_testing::{Server, TestCluster, eventually, unique, yaml};
use kubewright_webhook::{Change, Denial, Review, Validated, Webhooks, fail, validating};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::secured_metrics::{LOCAL, bind_role, read, token};

/// Values of objects, and a password in an error of the program's own code: none of them may be seen.
const PLANTED: &str = "planted-value";
const PASSWORD: &str = "planted-password";

/// What is asked of a program that serves.
struct Inside {
    address: SocketAddr,
    trust: TrustBundle,
    token: String,
    manifests: Manifests,
    _running: JoinSet<()>,
}

impl Inside {
    /// Serves a program, and lets one account look inside.
    async fn of(cluster: &TestCluster, program: Program) -> Self {
        let name = program.app().name().to_owned();
        let token = token(cluster, "inspector").await;
        let program = program
            .client(cluster.client_under_test())
            .metrics_bind_address(LOCAL);
        bind_role(cluster, &program, &format!("{name}-inspector"), "inspector").await;
        let serving = program
            .bind(LOCAL, SelfSigned::for_names(["127.0.0.1"]))
            .await
            .unwrap();
        let (address, trust) = (serving.metrics_addr().unwrap(), serving.trust());
        let url = format!("https://{}", serving.local_addr());
        let manifests = serving.manifests(Endpoint::url(&url).unwrap()).unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move { serving.run(std::future::pending()).await.unwrap() });
        Self {
            address,
            trust,
            token,
            manifests,
            _running: running,
        }
    }

    async fn text(&self) -> String {
        let path = "/debug/program";
        let (status, page) = read(self.address, &self.trust, Some(&self.token), path).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        page
    }

    async fn page(&self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// The page as soon as a condition holds.
    async fn when(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(what, async || {
            let page = self.page().await;
            holds(&page).then_some(page)
        })
        .await
    }
}

fn secured(name: &str) -> App {
    let install = Install::default().certificates_in_secret("tls");
    let hooks = Webhooks::new("example.com").with(validating("maps", judge));
    App::new(name)
        .version("1.2.0")
        .webhooks(hooks)
        .install(install)
        .secure_metrics()
}

/// Denies and fails, in words that quote the object.
async fn judge(change: Change<ConfigMap>, _: Review) -> Validated {
    let map = change.object();
    let value = map.data.iter().flatten().next().map(|(_, value)| value);
    let value = value.cloned().unwrap_or_default();
    match map.metadata.name.as_deref() {
        Some("denied") => Err(Denial::new(format!("`{value}` is no good value"))
            .field("data[key]")
            .code(422)
            .into()),
        Some("failed") => fail(format!("cannot look up `{value}`")),
        _ => Ok(()),
    }
}

async fn who_may_look(server: Server) {
    let cluster = TestCluster::builder().on(server).start().await;
    let name = unique("inside");
    let other = token(&cluster, "other").await;
    let scraper = token(&cluster, "scraper").await;
    let program = || Program::new(|_| secured(&name));
    bind_role(
        &cluster,
        &program(),
        &format!("{name}-metrics-reader"),
        "scraper",
    )
    .await;
    let inside = Inside::of(&cluster, program()).await;
    let page = inside.page().await;
    assert_eq!(page["program"]["name"], json!(name));
    assert_eq!(page["program"]["version"], "1.2.0");
    for (token, expected) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("nonsense"), StatusCode::UNAUTHORIZED),
        (Some(&*other), StatusCode::FORBIDDEN),
        (Some(&*scraper), StatusCode::FORBIDDEN),
    ] {
        let (status, body) = read(inside.address, &inside.trust, token, "/debug/program").await;
        assert_eq!(status, expected, "{token:?} on {server}: {body}");
        assert!(!body.contains("uptimeSeconds"), "{body}");
    }
    // One role is not the other.
    let metrics = |token| read(inside.address, &inside.trust, token, "/metrics");
    assert_eq!(metrics(Some(&*scraper)).await.0, StatusCode::OK);
    assert_eq!(metrics(Some(&*inside.token)).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn only_those_whom_the_api_server_lets_get_the_path_look_inside() {
    who_may_look(Server::Embedded).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn a_real_api_server_says_who_may_look_inside() {
    who_may_look(Server::Real).await;
}

#[tokio::test]
async fn a_program_that_does_not_secure_its_metrics_shows_nothing_of_its_inside() {
    let program = Program::new(|_| App::new("open")).metrics_bind_address(LOCAL);
    let started = program.start().await.unwrap();
    let (metrics, probes) = (started.metrics_addr(), started.health_probe_addr());
    for address in [metrics.unwrap(), probes.unwrap()] {
        assert_eq!(plain(address).await, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn the_port_of_the_probes_shows_nothing_of_the_inside() {
    let cluster = TestCluster::start().await;
    let program = Program::new(|_| App::new("closed").secure_metrics())
        .client(cluster.client_under_test())
        .metrics_bind_address(LOCAL)
        .health_probe_bind_address(([0, 0, 0, 0], 0));
    let started = program.start().await.unwrap();
    let probes = started.health_probe_addr().unwrap();
    assert_eq!(
        plain((LOCAL.0, probes.port()).into()).await,
        StatusCode::NOT_FOUND
    );
}

/// The status of the page in plain HTTP.
async fn plain(address: SocketAddr) -> StatusCode {
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let request = http::Request::get("/debug/program");
    let request = request.body(kube::client::Body::empty()).unwrap();
    client.send(request).await.unwrap().status()
}

/// A program with one of everything. Its reconciles fail, hang, or come back later, by the name of the object.
fn everything(needs: &mut Needs, name: &str, namespace: &str) -> App {
    let secrets: Cached<Secret> = needs.in_namespace(namespace).cached();
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        let secrets = secrets.clone();
        async move {
            match map.metadata.name.as_deref() {
                Some("failing") => {
                    assert!(!secrets.list().await?.is_empty());
                    Err(Error::retry(format!(
                        "cannot log in to postgres://admin:{PASSWORD}@db/x"
                    )))
                }
                Some("broken") => Err(Error::terminal("the spec names no bucket")),
                Some("slow") => std::future::pending().await,
                _ => Ok(Action::requeue_after(Duration::from_hours(1))),
            }
        }
    };
    let report = async |_: TaskContext| Err(Error::retry("no mail server"));
    let refresh = Trigger::new();
    refresh.reconcile((namespace, "any"));
    let controller = Controller::new("maps", reconcile)
        .within(Scope::all().in_namespace(namespace).labelled("inside"))
        .concurrency(2)
        .triggered_by(&refresh);
    secured(name)
        .leader_election(
            kubewright_controller::LeaderElection::by_lease(name).identity("replica-0"),
        )
        .controller(controller)
        .task(Task::on_leader("report", report).every(Duration::from_hours(1)))
}

async fn made(cluster: &TestCluster, name: &str) {
    let map: ConfigMap = yaml(&format!(
        "{{metadata: {{name: {name}, labels: {{inside: 'yes'}}}}, data: {{key: {PLANTED}}}}}"
    ));
    cluster.create(&map).await.expect_allowed();
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_part_of_a_program_is_seen_and_no_value_of_an_object() {
    let cluster = TestCluster::start().await;
    let secret: Secret = yaml(&format!(
        "{{metadata: {{name: login}}, stringData: {{password: {PASSWORD}}}}}"
    ));
    cluster.create(&secret).await.expect_allowed();
    for name in ["failing", "broken", "slow", "calm"] {
        made(&cluster, name).await;
    }
    let namespace = cluster.namespace().to_owned();
    let program = Program::new(|needs| everything(needs, "inside", &namespace));
    let inside = Inside::of(&cluster, program).await;
    let page = inside
        .when("all that there is to see", |page| {
            let controller = &page["controllers"][0];
            let failures = controller["failing"]["items"][1]["failures"].as_u64();
            failures > Some(2)
                && controller["delayed"]["total"] == 2
                && page["tasks"][0]["last"].is_object()
        })
        .await;

    let controller = &page["controllers"][0];
    assert_eq!(controller["name"], "maps");
    assert_eq!(controller["triggerCalls"], json!([1]));
    assert_eq!(controller["reconciles"]["terminal"], 1);
    assert_eq!(names(&controller["inProgress"]), ["slow"]);
    assert_eq!(names(&controller["failing"]), ["broken", "failing"]);
    let [broken, failing] = [0, 1].map(|number| &controller["failing"]["items"][number]);
    assert_eq!(broken["isTerminal"], true);
    assert_eq!(broken["error"], "the spec names no bucket");
    assert_eq!(failing["isTerminal"], false);
    assert_eq!(failing["error"], "cannot log in to postgres://…@db/x");
    let mut delayed = names(&controller["delayed"]);
    delayed.sort_unstable();
    assert_eq!(delayed, ["calm", "failing"]);

    let caches = page["caches"].as_array().unwrap();
    let of_kind = |kind: &str| caches.iter().find(|cache| cache["kind"] == kind).unwrap();
    let maps = of_kind("configmaps");
    assert_eq!(
        (&maps["objects"], &maps["synced"]),
        (&json!(4), &json!(true))
    );
    assert_eq!(of_kind("secrets")["served"], true);
    assert!(maps["bytes"].as_u64() > Some(100), "{maps}");
    assert!(maps["lastEvent"].is_string() && maps["resourceVersion"].is_string());

    assert_eq!(page["leadership"]["isLeader"], true);
    assert_eq!(page["leadership"]["holder"], "replica-0");
    let task = &page["tasks"][0];
    assert_eq!(task["name"], "report");
    assert_eq!(task["last"]["outcome"], "failed");
    assert_eq!(task["last"]["error"], "no mail server");
    assert!(task["next"].is_string());
    assert_eq!(page["checks"]["readyz"]["caches"], true);
    let certificate = &page["certificate"];
    assert!(certificate["serialNumber"].as_str().unwrap().len() > 8);
    assert!(certificate["notAfter"].is_string());
    assert!(page["server"]["address"].is_string());
    let parts: Vec<_> = page["parts"].as_array().unwrap().iter().collect();
    assert!(
        parts
            .iter()
            .any(|part| part["name"] == "the controllers" && part["ended"].is_null()),
        "{parts:?}"
    );

    let text = page.to_string();
    for planted in [PLANTED, PASSWORD] {
        assert!(!text.contains(planted), "{planted} in {text}");
    }
}

#[tokio::test]
async fn the_last_reviews_that_were_denied_or_failed_are_seen_without_their_messages() {
    let cluster = TestCluster::start().await;
    let inside = Inside::of(&cluster, Program::new(|_| secured("inside"))).await;
    for object in inside.manifests.objects() {
        cluster.apply(object).await.expect_allowed();
    }
    let map = |name: &str| -> ConfigMap {
        yaml(&format!(
            "{{metadata: {{name: {name}}}, data: {{key: {PLANTED}}}}}"
        ))
    };
    cluster.create(&map("denied")).await.expect_denied();
    cluster.create(&map("failed")).await.expect_status();
    cluster.create(&map("allowed")).await.expect_allowed();
    let page = inside.page().await;
    let webhook = &page["webhooks"][0];
    assert_eq!(webhook["name"], "maps.example.com");
    for outcome in ["allowed", "denied", "failed"] {
        assert_eq!(webhook[outcome], 1, "{outcome} of {webhook}");
    }
    let [failed, denied] = [0, 1].map(|number| &webhook["lastRefused"][number]);
    assert_eq!(denied["decision"], "denied");
    assert_eq!(denied["name"], "denied");
    assert_eq!(denied["code"], 422);
    assert_eq!(denied["causes"][0]["field"], "data[key]");
    assert_eq!(failed["decision"], "failed");
    let failure = failed["failure"].as_str().unwrap();
    assert!(failure.ends_with("its log says why"), "{failure}");
    assert!(failure.contains(failed["uid"].as_str().unwrap()));
    let text = page.to_string();
    assert!(!text.contains(PLANTED), "{text}");
}

#[tokio::test]
async fn of_many_objects_the_first_are_shown_with_their_number() {
    let cluster = TestCluster::start().await;
    for number in 0..300 {
        made(&cluster, &format!("map-{number:03}")).await;
    }
    let stuck = |_: Arc<ConfigMap>, _: Context| std::future::pending();
    let namespace = cluster.namespace().to_owned();
    let program = Program::new(|_| {
        let scope = Scope::all().in_namespace(&namespace).labelled("inside");
        secured("inside").controller(Controller::new("maps", stuck).within(scope))
    });
    let inside = Inside::of(&cluster, program).await;
    let page = inside
        .when("300 objects", |page| {
            page["controllers"][0]["waiting"]["total"] == 299
        })
        .await;
    let controller = &page["controllers"][0];
    let waiting = names(&controller["waiting"]);
    assert_eq!((waiting.len(), waiting[0]), (100, "map-001"));
    assert_eq!(names(&controller["inProgress"]), ["map-000"]);
    let text = inside.text().await;
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
}
