//! Certificates that the program looks after itself: made at the first start, and replaced without a call that fails.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use env_injector::{app, authority, program};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kubewright::Program;
use kubewright::certificates::{Timing, TrustBundle};
use kubewright::manifests::Endpoint;
use kubewright::testing::{Server, TestCluster, eventually, unique};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::mutation::{helloworld, variables};
use super::running::Running;

const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
const SECRET: &str = "env-injector-certs";
const CONFIGURATION: &str = "env-injector.toversus.dev";

/// Has the Service and the webhook configuration lead to an address, as they are installed: without a `caBundle`.
async fn install(cluster: &TestCluster, address: SocketAddr) {
    let namespace = cluster.namespace();
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "env-injector"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    });
    cluster.apply(&service).await.expect_allowed();
    let endpoint = format!("{namespace}/env-injector:{}", address.port());
    let manifests = Program::new(app).manifests(Endpoint::service(&endpoint).unwrap(), None);
    for object in manifests.unwrap().objects() {
        cluster.apply(object).await.expect_allowed();
    }
}

/// The authorities that the webhook configuration names, once it names any.
async fn published(cluster: &TestCluster) -> TrustBundle {
    eventually("the caBundle", async || {
        let found: MutatingWebhookConfiguration = cluster.get(CONFIGURATION).await?;
        let bundle = found.webhooks?.remove(0).client_config.ca_bundle?;
        TrustBundle::from_pem(bundle.0).ok()
    })
    .await
}

/// The certificate of the authority that signs now.
async fn current(cluster: &TestCluster) -> Option<Vec<u8>> {
    let secret: Secret = cluster.get(SECRET).await?;
    Some(secret.data?.remove("ca.crt")?.0)
}

/// Whether a server is believed under a name.
async fn is_believed(address: SocketAddr, trust: &TrustBundle, name: &str) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trust.certificates().iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.is_ok()
}

#[tokio::test]
async fn the_first_start_makes_everything_and_tells_of_no_trouble() {
    let running = Running::with_own_certificates("debug").await;
    let cluster = &running.cluster;
    install(cluster, running.address).await;
    let trust = published(cluster).await;
    assert_eq!(trust.certificates().len(), 1);

    let namespace = cluster.namespace();
    for name in [
        "env-injector".to_owned(),
        format!("env-injector.{namespace}"),
        format!("env-injector.{namespace}.svc"),
        format!("env-injector.{namespace}.svc.cluster.local"),
    ] {
        assert!(is_believed(running.address, &trust, &name).await, "{name}");
    }
    assert!(!is_believed(running.address, &trust, "env-injector.other.svc").await);

    let elsewhere = cluster.new_namespace(&unique("applications"), &[]).await;
    let stored = elsewhere.create(&helloworld()).await.expect_allowed();
    assert_ne!(variables(&stored), [json!(null)]);
    let key = cluster.get::<Secret>(SECRET).await.unwrap().data.unwrap()["ca.key"].clone();
    let log = running.end().await;
    let key = String::from_utf8(key.0).unwrap();
    for word in [" WARN ", " ERROR ", key.lines().nth(1).unwrap()] {
        assert!(!log.contains(word), "{word} is in the log: {log}");
    }
}

/// A Service in front of replicas: each connection leads to the next one.
async fn balance(replicas: Vec<SocketAddr>, tasks: &mut JoinSet<()>) -> SocketAddr {
    let listener = TcpListener::bind(LOCAL).await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        for replica in replicas.iter().cycle() {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(replica).await.unwrap();
            connections.spawn(async move {
                // Either side may end it.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

/// Rotates an authority with a life of seconds twice, and calls the program all the while.
async fn rotate_under_load(replicas: usize) {
    let timing = Timing::new()
        .leaf(Duration::from_secs(4))
        .authority(Duration::from_secs(9))
        .settle(Duration::from_millis(200))
        .skew(Duration::from_millis(200));
    let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    let mut tasks = JoinSet::new();
    let mut addresses = Vec::new();
    for _ in 0..replicas {
        let serving = Program::new(|_| program(authority().timing(timing)))
            .client(cluster.client_under_test())
            .bind_with_authority(LOCAL)
            .await
            .unwrap();
        addresses.push(serving.local_addr());
        tasks.spawn(async move { serving.run(std::future::pending()).await.unwrap() });
    }
    let service = balance(addresses, &mut tasks).await;
    install(&cluster, service).await;
    published(&cluster).await;

    let elsewhere = cluster.new_namespace(&unique("applications"), &[]).await;
    let (mut calls, mut authorities) = (0, vec![current(&cluster).await.unwrap()]);
    while authorities.len() < 3 {
        let mut deployment = helloworld();
        deployment.metadata.name = Some(format!("app-{calls}"));
        // Every call is answered: a failed one is an error that the test ends with.
        let stored = elsewhere.create(&deployment).await.expect_allowed();
        assert_ne!(variables(&stored), [json!(null)], "call {calls}");
        let name = stored.metadata.name.unwrap();
        elsewhere.delete::<Deployment>(&name).await.expect_allowed();
        calls += 1;
        let now = current(&cluster).await.unwrap();
        if !authorities.contains(&now) {
            authorities.push(now);
        }
    }
    assert!(calls > 20, "{calls} calls are no load");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorities_and_certificates_rotate_without_a_failed_call() {
    Box::pin(rotate_under_load(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_rotate_together_without_a_failed_call() {
    Box::pin(rotate_under_load(3)).await;
}
