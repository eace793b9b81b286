//! Trust in a program: every object that leads to it says by which authorities it is known, whatever others do to it.

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use kubewright_certificates::{
    Authority, CertificateError, CertificateSource, Identity, TrustBundle,
};
use kubewright_manager::{App, Needs, Program};
use kubewright_manifests::Endpoint;
use kubewright_testing::{End, Refusal, Requests, Sent, Server, TestCluster, eventually};
use kubewright_webhook::{
    Change, Mutated, Review, Validated, Webhooks, converting, mutating, validating,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::widgets::{v1, v2};

const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

type Configuration = ValidatingWebhookConfiguration;

/// Certificates that a test hands out.
struct HandedOut(UnboundedReceiver<Identity>);

impl CertificateSource for HandedOut {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        match self.0.recv().await {
            Some(identity) => Ok(identity),
            None => std::future::pending().await,
        }
    }
}

/// A program that runs in a test, with an API server that is led to it.
struct Policy {
    cluster: TestCluster,
    certificates: UnboundedSender<Identity>,
    conditions: Box<dyn Fn() -> Vec<(String, bool)>>,
    metrics: SocketAddr,
    _running: JoinSet<()>,
}

async fn allow(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

async fn same(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    Ok(change.into_object())
}

fn app(_: &mut Needs) -> App {
    let webhooks = Webhooks::new("example.com")
        .with(validating("names", allow))
        .with(validating("labels", allow))
        .with(mutating("same", same))
        .with(converting::<v1::Widget>().spoke::<v2::Widget>());
    App::new("policy").webhooks(webhooks).publish_ca()
}

fn identity(authority: &Authority) -> Identity {
    let life = Duration::from_hours(1);
    let issued = authority.sign_server(["127.0.0.1"], life).unwrap();
    issued.identity().unwrap()
}

fn authority(name: &str) -> Authority {
    Authority::new(name).unwrap()
}

impl Policy {
    async fn start(app: impl FnOnce(&mut Needs) -> App, authority: &Authority) -> Self {
        let cluster = TestCluster::builder().on(Server::Embedded).start().await;
        Self::start_on(cluster, app, authority).await
    }

    async fn start_on(
        cluster: TestCluster,
        app: impl FnOnce(&mut Needs) -> App,
        authority: &Authority,
    ) -> Self {
        let (certificates, handed_out) = unbounded_channel();
        certificates.send(identity(authority)).unwrap();
        let program = Program::new(app)
            .client(cluster.client_under_test())
            .metrics_bind_address(LOCAL);
        let serving = program.bind(LOCAL, HandedOut(handed_out)).await.unwrap();
        let metrics = serving.metrics_addr().unwrap();
        let readiness = serving.readiness();
        let mut running = JoinSet::new();
        running.spawn(async move { serving.run(std::future::pending()).await.unwrap() });
        Self {
            cluster,
            certificates,
            conditions: Box::new(move || readiness.conditions()),
            metrics,
            _running: running,
        }
    }

    /// Installs what leads to the program, as it is printed: without bundles.
    async fn install(&self) {
        let endpoint = Endpoint::service("blue/policy").unwrap();
        let manifests = Program::new(app).manifests(endpoint, None).unwrap();
        for object in manifests.objects() {
            self.cluster.apply(object).await.expect_allowed();
        }
    }

    fn is_believed(&self) -> bool {
        let conditions = (self.conditions)();
        let trust = conditions.iter().find(|(name, _)| name == "trust");
        trust.expect("there is such a condition").1
    }

    async fn configuration(&self) -> Configuration {
        self.cluster.get("policy").await.unwrap()
    }

    async fn bundles(&self) -> Vec<TrustBundle> {
        let webhooks = self.configuration().await.webhooks.unwrap();
        let clients = webhooks.into_iter().map(|webhook| webhook.client_config);
        clients.map(|client| bundle(&client)).collect()
    }

    /// Waits until both webhooks are known by exactly these authorities.
    async fn becomes(&self, wanted: &TrustBundle) {
        eventually("the trust in the configuration", async || {
            let bundles = self.bundles().await;
            bundles.iter().all(|bundle| bundle == wanted).then_some(())
        })
        .await;
    }

    /// Overwrites the caBundle of the first webhook, as another field manager.
    async fn overwrite(&self, text: &str) {
        overwrite(&self.cluster, text).await;
    }

    async fn page(&self) -> String {
        let mut connection = TcpStream::connect(self.metrics).await.unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut page = String::new();
        connection.read_to_string(&mut page).await.unwrap();
        page
    }

    fn writes(&self) -> usize {
        self.cluster.sent(&Requests::all().writes()).len()
    }
}

async fn overwrite(cluster: &TestCluster, text: &str) {
    let mut configuration: Configuration = cluster.get("policy").await.unwrap();
    let webhooks = configuration.webhooks.as_mut().unwrap();
    webhooks[0].client_config.ca_bundle = Some(ByteString(text.as_bytes().to_vec()));
    let configurations: Api<Configuration> = Api::all(cluster.client());
    let parameters = PostParams {
        field_manager: Some("kubectl-edit".to_owned()),
        ..PostParams::default()
    };
    // If the program was faster, there is nothing to overwrite.
    let written = configurations.replace("policy", &parameters, &configuration);
    if let Err(error) = written.await {
        assert!(error.to_string().contains("Conflict"), "{error}");
    }
}

fn bundle(client: &WebhookClientConfig) -> TrustBundle {
    let text = client.ca_bundle.as_ref().map(|bundle| &bundle.0[..]);
    TrustBundle::found_in(text.unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn every_object_that_leads_to_the_program_is_given_its_trust() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    // No configuration refers to the program yet, so none lacks its CA.
    eventually("the caches", async || policy.is_believed().then_some(())).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;

    let mutating: MutatingWebhookConfiguration = policy.cluster.get("policy").await.unwrap();
    let client = &mutating.webhooks.unwrap()[0].client_config;
    assert_eq!(bundle(client), ours.trust());
    let converted = eventually("the definition", async || {
        let name = "widgets.example.com";
        let definition: CustomResourceDefinition = policy.cluster.get(name).await?;
        let webhook = definition.spec.conversion?.webhook?;
        webhook.client_config?.ca_bundle
    })
    .await;
    assert_eq!(TrustBundle::found_in(converted.0), ours.trust());
    assert!(policy.is_believed());
}

#[tokio::test(start_paused = true)]
async fn an_aggregated_api_is_given_the_trust_too_when_it_is_asked_for() {
    use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;

    let ours = authority("ours");
    let served = |needs: &mut Needs| app(needs).serve_api("v1.metrics.example.com");
    let policy = Policy::start(served, &ours).await;
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.metrics.example.com"},
        "spec": {
            "group": "metrics.example.com", "version": "v1",
            "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"namespace": "blue", "name": "policy"},
        },
    });
    policy.cluster.apply(&service).await.expect_allowed();
    eventually("the trust", async || {
        let served: APIService = policy.cluster.get("v1.metrics.example.com").await?;
        let bundle = served.spec?.ca_bundle?;
        TrustBundle::found_in(bundle.0)
            .includes(&ours.trust())
            .then_some(())
    })
    .await;
    let deleted = policy
        .cluster
        .delete::<APIService>("v1.metrics.example.com");
    deleted.await.expect_allowed();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_differs() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    eventually("what is to be written", async || {
        (policy.writes() >= 3).then_some(())
    })
    .await;
    policy.cluster.forget_sent();
    let note = json!({"metadata": {"labels": {"team": "blue"}}});
    let merged = policy.cluster.merge::<Configuration>("policy", &note);
    merged.await.expect_allowed();
    policy.certificates.send(identity(&ours)).unwrap();
    policy.cluster.faults().drop_watches();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(policy.writes(), 0);

    // Another replica, and the same after a restart, find everything as it should be.
    let again = Policy::start_on(policy.cluster.clone(), app, &ours).await;
    eventually("the caches", async || again.is_believed().then_some(())).await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(policy.writes(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_others_wipe_or_overwrite_is_put_back_within_a_second_and_what_they_add_stays() {
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    for (text, becomes) in [
        (String::new(), ours.trust()),
        ("\n".to_owned(), ours.trust()),
        (theirs.certificate_pem(), theirs.trust().and(&ours.trust())),
    ] {
        policy.cluster.forget_sent();
        policy.overwrite(&text).await;
        let first = async || {
            let bundle = policy.bundles().await.swap_remove(0);
            (bundle == becomes).then_some(())
        };
        timeout(Duration::from_secs(1), eventually("the trust", first))
            .await
            .unwrap();
        assert_eq!(policy.writes(), 1);
    }
    // The other webhook was never theirs.
    assert_eq!(policy.bundles().await[1], ours.trust());
}

#[tokio::test(start_paused = true)]
async fn webhooks_of_others_in_the_configuration_are_left_alone() {
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    let mut configuration = policy.configuration().await;
    let webhooks = configuration.webhooks.as_mut().unwrap();
    let mut other = webhooks[0].clone();
    other.name = "names.example.org".to_owned();
    other.client_config.ca_bundle = Some(ByteString(theirs.certificate_pem().into_bytes()));
    webhooks[0].client_config.ca_bundle = None;
    webhooks.insert(0, other);
    let replaced = policy.cluster.replace(&configuration).await;
    replaced.expect_allowed();
    eventually("the trust in ours", async || {
        let bundles = policy.bundles().await;
        (bundles == [theirs.trust(), ours.trust(), ours.trust()]).then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_conflict_with_another_client_is_retried() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    policy.cluster.forget_sent();
    policy.cluster.faults().conflict_once::<Configuration>();
    policy.overwrite("").await;
    policy.becomes(&ours.trust()).await;
    let updates = Requests::of::<Configuration>().writes();
    let sent = policy.cluster.sent(&updates);
    let statuses: Vec<Option<u16>> = sent.iter().map(Sent::status).collect();
    assert_eq!(statuses, [Some(409), Some(200)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_is_not_made_and_what_is_made_again_is_filled() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    let deleted = policy.cluster.delete::<Configuration>("policy").await;
    deleted.expect_allowed();
    policy.cluster.forget_sent();
    sleep(Duration::from_mins(10)).await;
    assert!(
        policy
            .cluster
            .get::<Configuration>("policy")
            .await
            .is_none()
    );
    assert_eq!(policy.writes(), 0);
    assert!(
        policy.is_believed(),
        "no configuration refers to the program"
    );
    policy.install().await;
    policy.becomes(&ours.trust()).await;
}

#[tokio::test(start_paused = true)]
async fn a_stale_cache_overwrites_no_other_change() {
    let (ours, next) = (authority("ours"), authority("next"));
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    // From here on the program hears of nothing.
    let watches = Requests::of::<Configuration>().watches();
    policy.cluster.faults().end_watches(&watches, &End::Silent);
    let note = json!({"metadata": {"labels": {"team": "blue"}}});
    let merged = policy.cluster.merge::<Configuration>("policy", &note);
    merged.await.expect_allowed();
    policy.certificates.send(identity(&next)).unwrap();
    policy.becomes(&ours.trust().and(&next.trust())).await;
    let labels = policy.configuration().await.metadata.labels.unwrap();
    assert_eq!(labels["team"], "blue");
    let statuses = policy
        .cluster
        .sent(&Requests::of::<Configuration>().writes());
    assert!(statuses.iter().all(|sent| sent.status() == Some(200)));
}

#[tokio::test(start_paused = true)]
async fn a_replica_is_ready_while_its_certificate_is_believed_and_not_otherwise() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    let faults = policy.cluster.faults();
    let updates = || Requests::of::<Configuration>().verb("update");
    faults.on(updates()).answer(Refusal::unavailable());
    policy.install().await;
    eventually("the doubt", async || (!policy.is_believed()).then_some(())).await;
    faults.clear();
    eventually("the trust", async || policy.is_believed().then_some(())).await;

    faults
        .on(updates())
        .answer(Refusal::new(403, "Forbidden", "policy cannot update"));
    policy.overwrite("").await;
    eventually("the doubt", async || (!policy.is_believed()).then_some(())).await;
    faults.clear();
    eventually("the trust", async || policy.is_believed().then_some(())).await;

    // A replica that has read the configuration once stays ready without an API server.
    faults.outage(Duration::from_hours(1));
    sleep(Duration::from_mins(59)).await;
    assert!(policy.is_believed());
}

#[tokio::test(start_paused = true)]
async fn a_replica_stays_ready_while_what_was_overwritten_is_put_back() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    eventually("the trust", async || policy.is_believed().then_some(())).await;
    let faults = policy.cluster.faults();
    let updates = Requests::of::<Configuration>().verb("update");
    faults.on(updates).answer(Refusal::unavailable());
    policy.overwrite("").await;
    for _ in 0..45 {
        sleep(Duration::from_millis(100)).await;
        assert!(policy.is_believed());
    }
    // What stays lost is another matter.
    sleep(Duration::from_secs(1)).await;
    assert!(!policy.is_believed());
}

#[tokio::test(start_paused = true)]
async fn a_certificate_of_another_authority_is_published_beside_the_first() {
    let (ours, next) = (authority("ours"), authority("next"));
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    policy.certificates.send(identity(&next)).unwrap();
    policy.becomes(&ours.trust().and(&next.trust())).await;
    assert!(policy.is_believed());
}

#[tokio::test(start_paused = true)]
async fn who_overwrites_it_without_end_is_not_fought_without_end() {
    let (ours, theirs) = (authority("ours"), authority("theirs"));
    let policy = Policy::start(app, &ours).await;
    policy.install().await;
    policy.becomes(&ours.trust()).await;
    policy.cluster.forget_sent();
    let (cluster, text) = (policy.cluster.clone(), theirs.certificate_pem());
    let rival = async {
        let theirs = TrustBundle::from_pem(&text).unwrap();
        let mut times = 0;
        let end = Instant::now() + Duration::from_mins(10);
        while Instant::now() < end {
            let configuration: Configuration = cluster.get("policy").await.unwrap();
            let client = &configuration.webhooks.unwrap()[0].client_config;
            if bundle(client) != theirs {
                overwrite(&cluster, &text).await;
                times += 1;
            }
            sleep(Duration::from_millis(250)).await;
        }
        times
    };
    let times = rival.await;
    // Twenty at once, then pauses of 1, 2, 4, 8, 16, 32 seconds and a minute each.
    assert!((25..=40).contains(&times), "{times}");
    assert!((25..=40).contains(&policy.writes()), "{}", policy.writes());
    // Once the other field manager stops, the program restores the caBundle for good.
    let both = theirs.trust().and(&ours.trust());
    let first = async || {
        let bundle = policy.bundles().await.swap_remove(0);
        (bundle == both).then_some(())
    };
    let put_back = async {
        while first().await.is_none() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    timeout(Duration::from_secs(61), put_back).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_cert_manager_an_annotation_is_all_that_is_written() {
    let ours = authority("ours");
    let injected = |needs: &mut Needs| app(needs).inject_ca_from("blue/policy");
    let policy = Policy::start(injected, &ours).await;
    policy.install().await;
    let annotation = "cert-manager.io/inject-ca-from";
    let annotated = async || {
        let annotations = policy.configuration().await.metadata.annotations?;
        (annotations.get(annotation)? == "blue/policy").then_some(annotations)
    };
    eventually("the annotation", annotated).await;
    assert!(policy.bundles().await.iter().all(TrustBundle::is_empty));
    assert!(!policy.is_believed());

    // What cert-manager does with it.
    let patch = json!({"metadata": {"annotations": {"a": "b", annotation: null}}});
    let merged = policy.cluster.merge::<Configuration>("policy", &patch);
    merged.await.expect_allowed();
    let annotations = eventually("the annotation", annotated).await;
    assert_eq!(annotations["a"], "b");
    let text = STANDARD.encode(ours.certificate_pem());
    for (path, hooks) in [("validating", 2), ("mutating", 1)] {
        let path =
            format!("/apis/admissionregistration.k8s.io/v1/{path}webhookconfigurations/policy");
        for number in 0..hooks {
            let place = format!("/webhooks/{number}/clientConfig/caBundle");
            patch_json(&policy.cluster, &path, &place, &text).await;
        }
    }
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let place = "/spec/conversion/webhook/clientConfig/caBundle";
    patch_json(&policy.cluster, path, place, &text).await;
    eventually("the trust", async || policy.is_believed().then_some(())).await;
}

#[tokio::test]
async fn metrics_tell_of_every_object_that_is_there() {
    let ours = authority("ours");
    let policy = Policy::start(app, &ours).await;
    let series = |state: u8| {
        format!(
            "kubewright_certificate_trust_in_sync{{object=\"ValidatingWebhookConfiguration policy\"}} {state}\n"
        )
    };
    assert!(
        !policy
            .page()
            .await
            .contains("kubewright_certificate_trust_in_sync{")
    );
    let updates = Requests::of::<Configuration>().verb("update");
    let faults = policy.cluster.faults();
    faults.on(updates).answer(Refusal::unavailable());
    policy.install().await;
    for (state, writes) in [(0, 0), (1, 1)] {
        let page = eventually("the metrics", async || {
            let page = policy.page().await;
            page.contains(&series(state)).then_some(page)
        })
        .await;
        let count = format!(
            "kubewright_certificate_trust_writes_total{{object=\"ValidatingWebhookConfiguration policy\"}} {writes}\n"
        );
        assert!(page.contains(&count), "{page}");
        faults.clear();
    }
}

async fn patch_json(cluster: &TestCluster, path: &str, place: &str, value: &str) {
    let patch = json!([{"op": "add", "path": place, "value": value}]);
    let request = http::Request::patch(path)
        .header("content-type", "application/json-patch+json")
        .body(patch.to_string().into_bytes())
        .unwrap();
    let patched: Value = cluster.client().request(request).await.unwrap();
    assert!(patched.pointer(place).is_some());
}
