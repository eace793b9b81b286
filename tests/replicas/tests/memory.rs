//! Webhooks in a process with 128 MiB of memory, among clients that ask for all of it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_certificates::TrustBundle;
use replicas::Confined;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const MIB: usize = 1 << 20;
/// The default memory limit of an installed program.
const MEMORY: usize = 128 * MIB;
/// How much more than when it was idle the process may keep.
const LEFT: usize = 20 * MIB;
const TIMEOUT: Duration = Duration::from_mins(1);

/// The program, and how to connect to it.
struct Guarded {
    process: Confined,
    address: SocketAddr,
    connector: TlsConnector,
    _directory: TempDir,
}

impl Guarded {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ca = directory.path().join("ca.crt");
        let arguments = [
            "run",
            "--self-signed",
            "localhost",
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "off",
            "--write-ca",
            ca.to_str().unwrap(),
        ];
        let program = Path::new(env!("CARGO_BIN_EXE_guarded"));
        let process = Confined::start(program, &arguments, MEMORY);
        let mut process = process.await.unwrap();
        let line = process.line().await.unwrap();
        let address = line.strip_prefix("serving webhooks on https://");
        Self {
            process,
            address: address.expect(&line).parse().unwrap(),
            connector: connector(&std::fs::read(ca).unwrap()),
            _directory: directory,
        }
    }

    async fn connect(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").unwrap();
        self.connector.connect(name, stream).await
    }

    async fn client(&self) -> Client {
        let io = TokioIo::new(self.connect().await.unwrap());
        let (sender, connection) = handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        Client(sender)
    }

    /// How many bytes the process has of its own.
    fn memory(&self) -> usize {
        self.process.memory().unwrap().anonymous
    }

    /// Waits until the process has given back the memory that it took.
    async fn has_given_back(&self, idle: usize) {
        let given_back = async {
            while self.memory() > idle + LEFT {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let done = tokio::time::timeout(TIMEOUT, given_back).await;
        let now = self.memory();
        assert!(done.is_ok(), "{idle} bytes when idle, and {now} at the end");
    }
}

#[derive(Clone)]
struct Client(SendRequest<Full<Bytes>>);

impl Client {
    /// Sends a review, and returns the code of the answer.
    async fn code(&mut self, review: Bytes) -> u16 {
        let request = Request::post("https://localhost/pods")
            .header("content-type", "application/json")
            .body(Full::new(review))
            .unwrap();
        let answered = async {
            let response = self.0.send_request(request).await.unwrap();
            let code = response.status().as_u16();
            response.into_body().collect().await.unwrap();
            code
        };
        tokio::time::timeout(TIMEOUT, answered).await.unwrap()
    }
}

fn connector(ca: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in TrustBundle::from_pem(ca).unwrap().certificates() {
        roots.add(certificate.clone()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// A review of a pod with so many annotations.
fn pod(annotations: usize, value: &str) -> Bytes {
    let annotations: serde_json::Map<String, serde_json::Value> = (0..annotations)
        .map(|number| (format!("{number:x}"), value.into()))
        .collect();
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "namespace": "default",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "userInfo": {"username": "alice"},
            "object": {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": annotations},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    });
    review.to_string().into()
}

#[tokio::test]
async fn a_flood_of_heavy_reviews_kills_nothing_and_good_calls_are_answered() {
    let guarded = Guarded::start().await;
    let mut good = guarded.client().await;
    let review = pod(3, "yes");
    for _ in 0..20 {
        assert_eq!(good.code(review.clone()).await, 200);
    }
    let idle = guarded.memory();
    // Too heavy for any server of this size; heavy, so that one is answered at a time; and large, of a few long strings.
    let reviews = [
        pod(220_000, ""),
        pod(120_000, ""),
        pod(10, &"x".repeat(28_000)),
    ];
    let mut flood = JoinSet::new();
    for number in 0..30 {
        let mut client = guarded.client().await;
        let review = reviews[number % reviews.len()].clone();
        flood.spawn(async move { (number, client.code(review).await) });
        assert_eq!(good.code(pod(3, "yes")).await, 200, "beside {number}");
    }
    let mut codes = flood.join_all().await;
    codes.sort_unstable();
    for (number, code) in codes {
        match number % reviews.len() {
            // On a busy machine its body may be cut before it is weighed.
            0 => assert!(matches!(code, 408 | 413 | 503), "{number}: {code}"),
            _ => assert!(matches!(code, 200 | 408 | 503 | 504), "{number}: {code}"),
        }
    }
    assert_eq!(good.code(review).await, 200);
    guarded.has_given_back(idle).await;
}

#[tokio::test]
async fn idle_connections_take_no_more_than_their_share_and_a_new_client_is_served() {
    let guarded = Guarded::start().await;
    let review = pod(3, "yes");
    assert_eq!(guarded.client().await.code(review.clone()).await, 200);
    let idle = guarded.memory();
    let mut held = Vec::new();
    for _ in 0..700 {
        held.push(guarded.connect().await.unwrap());
    }
    assert_eq!(guarded.client().await.code(review.clone()).await, 200);
    let now = guarded.memory();
    assert!(
        now < idle + MEMORY / 4,
        "{idle} bytes when idle, and {now} now"
    );
    drop(held);
    guarded.has_given_back(idle).await;
}

#[tokio::test]
async fn a_process_that_takes_more_than_its_limit_ends() {
    let script = r#"x=$(head -c "$0" /dev/zero | tr '\0' x); echo "${#x}""#;
    let start = async |bytes| {
        let arguments = ["-c", script, bytes];
        let process = Confined::start(Path::new("/bin/sh"), &arguments, MEMORY);
        process.await.unwrap()
    };
    assert_eq!(start("1000").await.line().await.unwrap(), "1000");
    let mut process = start("200000000").await;
    assert_eq!(process.line().await.unwrap(), "");
    process.memory().unwrap_err();
}
