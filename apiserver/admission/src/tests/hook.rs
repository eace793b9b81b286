//! A webhook server that answers by a script: HTTP/1.1 over TLS, byte by byte where the script says so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What the server was sent.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
    pub(super) raw: Vec<u8>,
}

/// What the server does then.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A whole HTTP answer.
    Http {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, and nothing more until the client gives up.
    Open(Vec<u8>),
    /// Nothing, until the client gives up.
    Hang,
    /// The other reply, once as many calls are waiting as the barrier wants.
    Together(Arc<Barrier>, Box<Self>),
}

/// The server, ended when dropped.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) address: SocketAddr,
    pub(super) authority: Authority,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
    ended: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

/// A certificate authority of one test.
#[derive(Clone, Debug)]
pub(super) struct Authority {
    key: Arc<KeyPair>,
    pub(super) pem: String,
    name: String,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let pem = params(name).self_signed(&key).unwrap().pem();
        Self {
            key: Arc::new(key),
            pem,
            name: name.to_owned(),
        }
    }

    /// A server certificate for these names.
    pub(super) fn sign(
        &self,
        names: &[&str],
    ) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        self.sign_with(names, |_| {})
    }

    pub(super) fn sign_with(
        &self,
        names: &[&str],
        adjust: impl FnOnce(&mut CertificateParams),
    ) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut leaf = CertificateParams::new(names).unwrap();
        adjust(&mut leaf);
        let key = KeyPair::generate().unwrap();
        let authority = params(&self.name);
        let issuer = Issuer::from_params(&authority, &*self.key);
        let certificate = leaf.signed_by(&key, &issuer).unwrap();
        (
            vec![certificate.der().clone()],
            key.serialize_der().try_into().unwrap(),
        )
    }
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Hook {
    /// Starts a server with a certificate for 127.0.0.1, localhost and `hook.blue.svc`.
    pub(super) async fn start(script: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Self {
        let authority = Authority::new("hook-ca");
        let identity = authority.sign(&["127.0.0.1", "localhost", "hook.blue.svc"]);
        Self::start_as(authority, identity, script).await
    }

    pub(super) async fn start_as(
        authority: Authority,
        identity: (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>),
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(rustls::ALL_VERSIONS, authority, identity, script).await
    }

    pub(super) async fn start_with(
        versions: &[&'static SupportedProtocolVersion],
        authority: Authority,
        (chain, key): (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>),
        script: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (calls, count) = (Arc::clone(&received), Arc::clone(&connections));
        let script = Arc::new(script);
        let (ends, ended) = watch::channel(0);
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, calls) = (acceptor.clone(), Arc::clone(&calls));
                let (script, ends) = (Arc::clone(&script), ends.clone());
                open.spawn(async move {
                    serve(stream, acceptor, &calls, &*script).await;
                    ends.send_modify(|ended| *ended += 1);
                });
            }
        });
        Self {
            address,
            authority,
            received,
            connections,
            ended,
            task,
        }
    }

    /// A webhook that points here by URL: config maps, CREATE.
    pub(super) fn webhook(&self, name: &str) -> Value {
        self.webhook_at(name, "/")
    }

    pub(super) fn webhook_at(&self, name: &str, path: &str) -> Value {
        let url = format!("https://{}{path}", self.address);
        webhook(name, &json!({"url": url, "caBundle": self.ca_bundle()}))
    }

    pub(super) fn ca_bundle(&self) -> String {
        STANDARD.encode(&self.authority.pem)
    }

    /// Everything received so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    /// How often the server was called.
    pub(super) fn calls(&self) -> usize {
        self.received.lock().len()
    }

    /// The paths that were called, without queries.
    pub(super) fn paths(&self) -> Vec<String> {
        let path = |call: &Received| call.target.split('?').next().unwrap_or_default().to_owned();
        self.received.lock().iter().map(path).collect()
    }

    /// Waits until so many connections were closed by the server.
    pub(super) async fn closed(&self, count: usize) {
        let mut ended = self.ended.clone();
        ended.wait_for(|ended| *ended >= count).await.unwrap();
    }

    /// How many connections were made.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A webhook of a configuration, with the defaults that the API server fills in.
pub(super) fn webhook(name: &str, client_config: &Value) -> Value {
    json!({
        "name": name,
        "clientConfig": client_config,
        "rules": [{
            "operations": ["CREATE"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
            "scope": "*",
        }],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "reinvocationPolicy": "Never",
        "admissionReviewVersions": ["v1", "v1beta1"],
    })
}

/// A copy of a webhook with some fields changed.
pub(super) fn but(mut webhook: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else {
        panic!("changes are an object");
    };
    for (key, value) in changes {
        webhook[key] = value;
    }
    webhook
}

impl Reply {
    pub(super) fn json(value: &Value) -> Self {
        Self::Http {
            status: 200,
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: value.to_string().into_bytes(),
        }
    }

    pub(super) fn status(status: u16, body: &str) -> Self {
        Self::Http {
            status,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    pub(super) fn header(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Self::Http {
                status,
                mut headers,
                body,
            } => {
                headers.push((name, value.into()));
                Self::Http {
                    status,
                    headers,
                    body,
                }
            }
            other => other,
        }
    }
}

/// A review whose response has these members and the request's uid.
pub(super) fn review(call: &Received, response: Value) -> Value {
    let mut response = response;
    if response.get("uid").is_none() {
        response["uid"] = call.body["request"]["uid"].clone();
    }
    json!({"apiVersion": call.body["apiVersion"], "kind": "AdmissionReview", "response": response})
}

pub(super) fn answer(call: &Received, response: Value) -> Reply {
    Reply::json(&review(call, response))
}

pub(super) fn allow(call: &Received) -> Reply {
    answer(call, json!({"allowed": true}))
}

/// Allows with a JSON patch.
pub(super) fn patch(call: &Received, operations: &Value) -> Reply {
    let patch = STANDARD.encode(operations.to_string());
    answer(
        call,
        json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}),
    )
}

async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    calls: &Mutex<Vec<Received>>,
    script: &(dyn Fn(&Received) -> Reply + Send + Sync),
) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    let mut buffer = Vec::new();
    while let Some(call) = receive(&mut stream, &mut buffer).await {
        calls.lock().push(call.clone());
        let mut reply = script(&call);
        if let Reply::Together(barrier, then) = reply {
            barrier.wait().await;
            reply = *then;
        }
        let bytes = match reply {
            Reply::Http {
                status,
                headers,
                body,
            } => http(status, &headers, &body),
            Reply::Bytes(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            Reply::Open(bytes) => {
                let _ = stream.write_all(&bytes).await;
                std::future::pending().await
            }
            Reply::Hang | Reply::Together(..) => std::future::pending().await,
        };
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

fn http(status: u16, headers: &[(&'static str, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

async fn receive(
    stream: &mut (impl tokio::io::AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<Received> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut request_line = lines.next()?.split(' ').map(str::to_owned);
    let (method, target) = (request_line.next()?, request_line.next()?);
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let body_start = head_end + 4;
    while buffer.len() < body_start + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let raw: Vec<u8> = buffer[body_start..body_start + length].to_vec();
    buffer.drain(..body_start + length);
    let body = serde_json::from_slice(&raw).unwrap_or_default();
    Some(Received {
        method,
        target,
        headers,
        body,
        raw,
    })
}
