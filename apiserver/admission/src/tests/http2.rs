//! A.13: which version of HTTP is spoken to a webhook that can do both.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::ring;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::advance;
use tokio_rustls::TlsAcceptor;

use super::hook::{Authority, webhook};
use super::limits::StandStill;
use super::setting::Setting;

/// What each call came by: its version and its authority.
type Calls = Arc<Mutex<Vec<(Version, String)>>>;

/// A webhook server that negotiates HTTP/2 where the client offers it.
struct Server {
    address: SocketAddr,
    calls: Calls,
    /// How many connections were made, and how many of them have ended.
    connections: watch::Receiver<(usize, usize)>,
    tasks: JoinSet<()>,
}

async fn start(authority: &Authority) -> Server {
    let (chain, key) = authority.sign(&["127.0.0.1", "localhost", "hook.blue.svc"]);
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Calls::default();
    let seen = Arc::clone(&calls);
    let (counted, connections) = watch::channel((0, 0));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut open = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
            let counted = counted.clone();
            counted.send_modify(|(made, _)| *made += 1);
            open.spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                let service = service_fn(move |request| allow(Arc::clone(&seen), request));
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
                counted.send_modify(|(_, ended)| *ended += 1);
            });
        }
    });
    Server {
        address,
        calls,
        connections,
        tasks,
    }
}

async fn allow(
    calls: Calls,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let host = head
        .headers
        .get("host")
        .map(|host| host.to_str().unwrap().to_owned());
    let authority = head.uri.authority().map(ToString::to_string);
    calls
        .lock()
        .push((head.version, host.or(authority).unwrap()));
    let review: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true},
    });
    Ok(Response::new(Full::from(answer.to_string())))
}

#[tokio::test]
async fn a13_http2_is_negotiated_with_loopback_urls_and_never_with_services() {
    let authority = Authority::new("ca");
    let Server {
        address,
        calls,
        tasks: _tasks,
        ..
    } = start(&authority).await;
    let ca = STANDARD.encode(&authority.pem);
    let url =
        |host: &str| json!({"url": format!("https://{host}:{}/", address.port()), "caBundle": ca});
    let service = json!({"service": {"namespace": "blue", "name": "hook"}, "caBundle": ca});
    let setting = Setting::new().mutating(
        "a",
        [
            webhook("one.example.com", &url("127.0.0.1")),
            webhook("two.example.com", &url("localhost")),
            webhook("three.example.com", &service),
        ],
    );
    setting.chain.services().set("blue", "hook", 443, address);
    for _ in 0..2 {
        setting.create().await.unwrap();
    }
    let one_round = [
        (Version::HTTP_2, address.to_string()),
        (Version::HTTP_2, format!("localhost:{}", address.port())),
        (Version::HTTP_11, "hook.blue.svc:443".to_owned()),
    ];
    let expected: Vec<_> = one_round.iter().chain(&one_round).cloned().collect();
    assert_eq!(*calls.lock(), expected);
}

#[tokio::test]
async fn a13_an_http2_connection_that_ended_is_replaced() {
    let authority = Authority::new("ca");
    let Server {
        address,
        calls,
        tasks,
        ..
    } = start(&authority).await;
    let ca = STANDARD.encode(&authority.pem);
    let config = json!({"url": format!("https://{address}/"), "caBundle": ca});
    let setting = Setting::new().mutating("a", [webhook("one.example.com", &config)]);
    setting.create().await.unwrap();
    assert_eq!(calls.lock().len(), 1);
    drop(tasks);
    let refused = loop {
        // The server's end of the connection goes with its task, at the runtime's next turn.
        match setting.create().await {
            Err(refused) if refused.contains("connection refused") => break refused,
            _ => tokio::task::yield_now().await,
        }
    };
    let why = format!(
        "Post \"https://{address}/?timeout=10s\": dial tcp {address}: connect: connection refused"
    );
    assert!(refused.ends_with(&why), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a13_an_http2_connection_is_kept_for_ninety_seconds_and_closed_then() {
    let _still = StandStill::new();
    let authority = Authority::new("ca");
    let mut server = start(&authority).await;
    let url = format!("https://{}/", server.address);
    let config = json!({"url": url, "caBundle": STANDARD.encode(&authority.pem)});
    let setting = Setting::new().mutating("a", [webhook("one.example.com", &config)]);
    setting.create().await.unwrap();
    for _ in 0..2 {
        advance(Duration::from_secs(89)).await;
        setting.create().await.unwrap();
    }
    assert_eq!(*server.connections.borrow(), (1, 0));
    advance(Duration::from_secs(90)).await;
    let ended = server.connections.wait_for(|(_, ended)| *ended == 1);
    drop(ended.await.unwrap());
    setting.create().await.unwrap();
    assert_eq!(*server.connections.borrow(), (2, 1));
    assert!(
        server
            .calls
            .lock()
            .iter()
            .all(|(version, _)| *version == Version::HTTP_2)
    );
}
