//! Metrics over HTTPS: only who an API server knows and lets get the path reads them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec, TokenReview};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, Config};
use kubewright_certificates::{SelfSigned, TrustBundle};
use kubewright_manager::{App, Needs, Program};
use kubewright_testing::{Refusal, Requests, TestCluster, yaml};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
use serde_json::json;
use tokio::task::JoinSet;

pub(crate) const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

async fn allow(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

fn app(_: &mut Needs) -> App {
    App::new("policy")
        .webhooks(Webhooks::new("example.com").with(validating("names", allow)))
        .secure_metrics()
}

/// The status and the body of a page for a client with this token, which trusts these authorities alone.
pub(crate) async fn read(
    address: SocketAddr,
    trust: &TrustBundle,
    token: Option<&str>,
    path: &str,
) -> (StatusCode, String) {
    let mut config = Config::new(format!("https://{address}").parse().unwrap());
    let roots = trust.certificates().iter();
    config.root_cert = Some(roots.map(|certificate| certificate.to_vec()).collect());
    // What is refused is an answer, too.
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(kube::client::Body::empty()).unwrap();
    let answer = client.send(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect_bytes().await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// A token of a ServiceAccount that is made for it.
pub(crate) async fn token(cluster: &TestCluster, name: &str) -> String {
    let account: ServiceAccount = yaml(&format!("metadata: {{name: {name}}}"));
    cluster.create(&account).await.expect_allowed();
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), cluster.namespace());
    let request = TokenRequest {
        spec: Some(TokenRequestSpec::default()),
        ..TokenRequest::default()
    };
    let parameters = PostParams::default();
    let made = accounts.create_token_request(name, &parameters, &request);
    made.await.unwrap().status.unwrap().token.unwrap()
}

/// Lets a ServiceAccount read the metrics, by the role that the manifests have.
async fn let_read(cluster: &TestCluster, program: &Program, account: &str) {
    bind_role(cluster, program, "policy-metrics-reader", account).await;
}

/// Binds a role that the manifests of a program have to a ServiceAccount.
pub(crate) async fn bind_role(cluster: &TestCluster, program: &Program, role: &str, account: &str) {
    let objects = program.deployment().unwrap().manifests();
    let mut objects = objects.objects().iter();
    let found = objects.find(|object| object["metadata"]["name"] == role);
    cluster.apply(found.unwrap()).await.expect_allowed();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("{role}-for-{account}-of-{}", cluster.namespace())},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role,
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": cluster.namespace()}],
    });
    cluster.apply(&binding).await.expect_allowed();
}

fn program(cluster: &TestCluster) -> Program {
    Program::new(|needs| {
        let install = kubewright_manifests::Install::default().certificates_in_secret("policy-tls");
        app(needs).install(install)
    })
    .client(cluster.client_under_test())
    .metrics_bind_address(LOCAL)
}

#[tokio::test]
async fn metrics_over_https_are_for_those_who_may_get_them() {
    let cluster = TestCluster::start().await;
    let (prometheus, other) = (
        token(&cluster, "prometheus").await,
        token(&cluster, "other").await,
    );
    let program = program(&cluster);
    let_read(&cluster, &program, "prometheus").await;
    let serving = program
        .bind(LOCAL, SelfSigned::for_names(["127.0.0.1"]))
        .await
        .unwrap();
    let (address, trust) = (serving.metrics_addr().unwrap(), serving.trust());
    let mut running = JoinSet::new();
    running.spawn(serving.run(std::future::pending()));

    // The certificate is the one of the webhooks, so that it is verified by the same trust.
    let (status, page) = read(address, &trust, Some(&prometheus), "/metrics").await;
    assert_eq!(status, StatusCode::OK, "{page}");
    assert!(page.ends_with("# EOF\n"), "{page}");
    for (token, expected) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("nonsense"), StatusCode::UNAUTHORIZED),
        (Some(""), StatusCode::UNAUTHORIZED),
        (Some(&*other), StatusCode::FORBIDDEN),
    ] {
        let (status, body) = read(address, &trust, token, "/metrics").await;
        assert_eq!(status, expected, "{token:?}: {body}");
        assert!(!body.contains("# TYPE"), "{body}");
    }

    // What was found out is remembered for a while: scrapes do not cost the API server anything.
    cluster.faults().forget_sent();
    for _ in 0..20 {
        assert_eq!(
            read(address, &trust, Some(&prometheus), "/metrics").await.0,
            StatusCode::OK
        );
        assert_eq!(
            read(address, &trust, Some("nonsense"), "/metrics").await.0,
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(
            read(address, &trust, Some(&other), "/metrics").await.0,
            StatusCode::FORBIDDEN
        );
    }
    assert!(cluster.sent(&Requests::of::<TokenReview>()).is_empty());
    assert!(
        cluster
            .sent(&Requests::of::<SubjectAccessReview>())
            .is_empty()
    );
}

#[tokio::test]
async fn metrics_are_refused_while_the_api_server_cannot_be_asked_and_not_longer() {
    let cluster = TestCluster::start().await;
    let prometheus = token(&cluster, "prometheus").await;
    let program = program(&cluster);
    let_read(&cluster, &program, "prometheus").await;
    let serving = program
        .bind(LOCAL, SelfSigned::for_names(["127.0.0.1"]))
        .await
        .unwrap();
    let (address, trust) = (serving.metrics_addr().unwrap(), serving.trust());
    let reviews = Requests::of::<TokenReview>();
    cluster
        .faults()
        .on(reviews)
        .once()
        .answer(Refusal::unavailable());
    let (status, body) = read(address, &trust, Some(&prometheus), "/metrics").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    assert_eq!(
        read(address, &trust, Some(&prometheus), "/metrics").await.0,
        StatusCode::OK
    );
}

/// Counts the reviews that are on their way to the API server, and how many there were at most.
#[derive(Clone, Default)]
struct InFlight(Arc<(AtomicUsize, AtomicUsize)>);

impl InFlight {
    fn enter(&self) -> Self {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        self.clone()
    }

    fn leave(self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_flood_of_tokens_has_no_more_than_a_few_reviews_made_at_a_time() {
    let cluster = TestCluster::start().await;
    let prometheus = token(&cluster, "prometheus").await;
    let (in_flight, client) = (InFlight::default(), cluster.client_under_test());
    let way = {
        let in_flight = in_flight.clone();
        tower::service_fn(move |request: Request<kube::client::Body>| {
            let (client, entered) = (client.clone(), in_flight.enter());
            async move {
                // So that others come while this one is on its way.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                let answer = client.send(request).await;
                entered.leave();
                answer
            }
        })
    };
    let program = program(&cluster).client(Client::new(way, cluster.namespace()));
    let_read(&cluster, &program, "prometheus").await;
    let certificates = SelfSigned::for_names(["127.0.0.1"]);
    let serving = program.bind(LOCAL, certificates).await.unwrap();
    let (address, trust) = (serving.metrics_addr().unwrap(), serving.trust());
    let mut flood = JoinSet::new();
    for number in 0..100 {
        let trust = trust.clone();
        let read = async move {
            read(
                address,
                &trust,
                Some(&format!("token-{number}")),
                "/metrics",
            )
            .await
            .0
        };
        flood.spawn(read);
    }
    let (status, body) = read(address, &trust, Some(&prometheus), "/metrics").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    while let Some(status) = flood.join_next().await {
        assert_eq!(status.unwrap(), StatusCode::UNAUTHORIZED);
    }
    assert_eq!(in_flight.most(), 4);
    assert_eq!(cluster.sent(&Requests::of::<TokenReview>()).len(), 101);
}

#[tokio::test]
async fn the_roles_of_a_program_that_secures_its_metrics_let_it_ask() {
    let cluster = TestCluster::builder()
        .exact_permissions()
        .app(app)
        .start()
        .await;
    let pod: Pod = yaml("{metadata: {name: web}, spec: {containers: [{name: web, image: nginx}]}}");
    cluster.create(&pod).await.expect_allowed();
    let roles = Program::new(app).permissions();
    assert_eq!(roles.objects().len(), 1, "{roles:?}");
}
