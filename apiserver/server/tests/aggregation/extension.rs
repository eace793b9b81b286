//! An aggregated API server on a loopback port, which accepts the front proxy of a cluster and no other client.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream;
use http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::cluster::Cluster;

/// The group and version of every such server.
pub(super) const GROUP: &str = "zoo.example.com";
pub(super) const NAME: &str = "v1.zoo.example.com";
pub(super) const ROOT: &str = "/apis/zoo.example.com/v1";
pub(super) const CATS: &str = "/apis/zoo.example.com/v1/namespaces/default/cats";

/// The server; it stops when this is dropped.
pub(super) struct Extension {
    pub(super) address: SocketAddr,
    pub(super) ca_bundle: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: Method,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    /// The common name of the client certificate.
    pub(super) client: String,
    pub(super) body: Bytes,
}

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Discovery is one document for each version.
    Plain,
    /// Discovery is one document of all of them.
    Aggregated,
    /// It accepts connections and never answers.
    Silent,
}

type Lines = Arc<Mutex<Option<UnboundedReceiver<Bytes>>>>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

impl Extension {
    pub(super) async fn start(cluster: &Cluster) -> Self {
        Self::start_as(cluster, Manner::Plain, None).await
    }

    /// Starts a server whose watches send what comes through `lines`.
    pub(super) async fn start_as(
        cluster: &Cluster,
        manner: Manner,
        lines: Option<UnboundedReceiver<Bytes>>,
    ) -> Self {
        let authority = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = params.self_signed(&authority).unwrap();
        let issuer = Issuer::new(params, authority);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["zoo.default.svc".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();

        let configuration = configuration(cluster).await;
        let trusted = configuration["requestheader-client-ca-file"].as_str();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(trusted.unwrap().as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let seen = Arc::default();
        Self {
            address: listener.local_addr().unwrap(),
            ca_bundle: STANDARD.encode(ca.pem()),
            seen: Arc::clone(&seen),
            task: tokio::spawn(accept(
                listener,
                TlsAcceptor::from(Arc::new(config)),
                manner,
                seen,
                Arc::new(Mutex::new(lines)),
            )),
        }
    }

    /// The APIService of this server, and the Service that it names.
    pub(super) fn objects(&self) -> [Value; 2] {
        [service("zoo"), self.registration("zoo")]
    }

    pub(super) fn registration(&self, service: &str) -> Value {
        json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": NAME},
            "spec": {
                "group": GROUP, "version": "v1", "groupPriorityMinimum": 2000, "versionPriority": 10,
                "service": {"namespace": "default", "name": service, "port": self.address.port()},
                "caBundle": self.ca_bundle,
            },
        })
    }

    /// The requests of users, without those of the aggregator.
    pub(super) fn seen(&self) -> Vec<Seen> {
        let seen = self.seen.lock();
        let of_users = seen
            .iter()
            .filter(|it| it.headers["x-remote-user"] != "system:kube-aggregator");
        of_users.cloned().collect()
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A Service at this machine.
pub(super) fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    })
}

/// What the cluster says that its front proxy is known by.
pub(super) async fn configuration(cluster: &Cluster) -> Value {
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    cluster.get(path).await.expect(200)["data"].take()
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    manner: Manner,
    seen: Arc<Mutex<Vec<Seen>>>,
    lines: Lines,
) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let (acceptor, seen, lines) = (acceptor.clone(), Arc::clone(&seen), Arc::clone(&lines));
        connections.spawn(async move {
            if manner == Manner::Silent {
                return std::future::pending().await;
            }
            // Clients without a certificate of the front proxy come no further.
            let Ok(stream) = acceptor.accept(socket).await else {
                return;
            };
            let shown = stream.get_ref().1.peer_certificates().unwrap()[0].clone();
            let (_, certificate) = X509Certificate::from_der(&shown).unwrap();
            let mut names = certificate.subject().iter_common_name();
            let client = names.next().unwrap().as_str().unwrap().to_owned();
            let service = service_fn(|request| {
                answer(
                    request,
                    client.clone(),
                    manner,
                    Arc::clone(&seen),
                    Arc::clone(&lines),
                )
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            // How the client ends the connection is its own affair.
            drop(connection.await);
        });
    }
}

async fn answer(
    mut request: Request<Incoming>,
    client: String,
    manner: Manner,
    seen: Arc<Mutex<Vec<Seen>>>,
    lines: Lines,
) -> Result<Answer, Infallible> {
    let upgrade = request.headers().get(UPGRADE).cloned();
    let upgraded = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    seen.lock().push(Seen {
        method: head.method.clone(),
        uri: head.uri.to_string(),
        headers: head.headers.clone(),
        client,
        body: body.clone(),
    });
    if let (Some(protocol), Some(upgraded)) = (upgrade, upgraded) {
        tokio::spawn(async move {
            let mut stream = TokioIo::new(upgraded.await.unwrap());
            let mut word = [0; 4];
            stream.read_exact(&mut word).await.unwrap();
            word.reverse();
            stream.write_all(&word).await.unwrap();
        });
        let response = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, protocol);
        return Ok(response.body(Full::default().boxed()).unwrap());
    }
    Ok(match (head.method.as_str(), head.uri.path()) {
        ("GET", "/apis") if manner == Manner::Aggregated => aggregated(),
        ("GET", ROOT) => object(200, &plain()),
        ("GET", "/openapi/v3") => object(
            200,
            &json!({"paths": {
                "apis/zoo.example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/zoo.example.com/v1?hash=1"},
                "apis/other.example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/other.example.com/v1?hash=1"},
            }}),
        ),
        ("GET", "/openapi/v3/apis/zoo.example.com/v1") => object(200, &json!({"openapi": "3.0.0"})),
        ("GET", CATS) if head.uri.query().is_some_and(|it| it.contains("watch")) => {
            let lines = lines.lock().take().unwrap();
            let frames = stream::unfold(lines, async |mut lines| {
                let line = lines.recv().await?;
                Some((Ok(Frame::data(line)), lines))
            });
            Response::new(StreamBody::new(frames).boxed())
        }
        ("GET", CATS) => object(
            200,
            &json!({
                "kind": "CatList", "apiVersion": "zoo.example.com/v1", "metadata": {}, "items": [],
            }),
        ),
        ("GET", "/apis/zoo.example.com/v1/namespaces/demo/cats") => {
            let is_deleted = seen.lock().iter().any(|seen| seen.method == "DELETE");
            let items = if is_deleted {
                json!([])
            } else {
                json!([{"metadata": {"name": "tom", "namespace": "demo"}}])
            };
            object(200, &json!({"kind": "CatList", "items": items}))
        }
        ("DELETE", _) => object(200, &json!({"kind": "Status", "status": "Success"})),
        ("POST", CATS) => {
            let mut response = Response::new(Full::new(body).boxed());
            *response.status_mut() = StatusCode::CREATED;
            response
        }
        _ => object(404, &json!({"kind": "Status", "code": 404})),
    })
}

fn object(code: u16, object: &Value) -> Answer {
    let response = Response::builder().status(code);
    let response = response.header(CONTENT_TYPE, "application/json");
    let body = Full::new(Bytes::from(object.to_string()));
    response.body(body.boxed()).unwrap()
}

fn plain() -> Value {
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "zoo.example.com/v1", "resources": [
        {"name": "cats", "singularName": "cat", "namespaced": true, "kind": "Cat", "verbs": ["create", "delete", "get", "list", "watch"]},
    ]})
}

fn aggregated() -> Answer {
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": [{"metadata": {"name": GROUP}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "dogs", "responseKind": {"group": "", "version": "", "kind": "Dog"}, "scope": "Cluster",
             "singularResource": "dog", "verbs": ["get"]},
        ]}]}],
    });
    let mut answer = object(200, &list);
    let form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, form.parse().unwrap());
    answer
}
