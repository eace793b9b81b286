//! The scripted webhook: an HTTPS server that answers as a case says and keeps what it was sent.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_certificates::Authority;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::case::{Hook, Raw};
use crate::converters::Converter;
use crate::vars::Vars;

/// The label that only probe objects carry.
pub(crate) const PROBE: &str = "conformance.kubewright.dev/probe";

const LIFETIME: Duration = Duration::from_hours(24);

/// The webhook server; one for all cases of a run.
#[derive(Clone, Debug)]
pub(crate) struct Hooks {
    address: SocketAddr,
    ca_bundle: String,
    scripts: Arc<Mutex<HashMap<String, Script>>>,
}

#[derive(Debug, Default)]
struct Script {
    answers: Vec<Raw>,
    converter: Option<Converter>,
    /// How many calls there were.
    count: usize,
    calls: Vec<Call>,
}

/// What a webhook was sent.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) request: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) raw: Bytes,
}

impl Hooks {
    pub(crate) async fn start() -> Result<Self> {
        let authority = Authority::new("conformance webhooks")?;
        let issued = authority.sign_server(["127.0.0.1", "localhost"], LIFETIME)?;
        let own = issued.identity()?.certified_key();
        let ca_bundle = authority.trust().to_ca_bundle();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Certificates { authority, own }));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.context("listen for webhook calls")?;
        let hooks = Self {
            address: listener.local_addr()?,
            ca_bundle,
            scripts: Arc::default(),
        };
        tokio::spawn(
            hooks
                .clone()
                .accept(listener, TlsAcceptor::from(Arc::new(tls))),
        );
        Ok(hooks)
    }

    /// `https://127.0.0.1:port`.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn ca_bundle(&self) -> &str {
        &self.ca_bundle
    }

    /// Serves the scripted answers at `/namespace/name`.
    ///
    /// # Errors
    /// A scripted answer is not an HTTP answer.
    pub(crate) fn script(&self, namespace: &str, name: &str, hook: &Hook) -> Result<()> {
        let answers = if hook.raw.0.is_empty() {
            hook.answer.0.iter().map(enveloped).collect()
        } else {
            let raw = hook.raw.0.iter().cloned().map(serde_json::from_value);
            raw.collect::<Result<_, _>>().context("read a raw answer")?
        };
        let script = Script {
            answers,
            ..Script::default()
        };
        self.lock().insert(format!("/{namespace}/{name}"), script);
        Ok(())
    }

    /// Serves a converter at `/namespace/name`.
    pub(crate) fn convert(&self, namespace: &str, converter: Converter) {
        let path = format!("/{namespace}/{}", converter.converting);
        let script = Script {
            converter: Some(converter),
            ..Script::default()
        };
        self.lock().insert(path, script);
    }

    /// Number of calls that have not been taken yet.
    pub(crate) fn waiting(&self, namespace: &str, name: &str) -> usize {
        let path = format!("/{namespace}/{name}");
        self.lock()
            .get(&path)
            .map_or(0, |script| script.calls.len())
    }

    /// Takes the calls that a hook has received since the last time.
    pub(crate) fn take(&self, namespace: &str, name: &str) -> Vec<Call> {
        let path = format!("/{namespace}/{name}");
        let mut scripts = self.lock();
        let script = scripts.get_mut(&path);
        script
            .map(|script| std::mem::take(&mut script.calls))
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Script>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn accept(self, listener: TcpListener, tls: TlsAcceptor) {
        while let Ok((stream, _)) = listener.accept().await {
            let (hooks, tls) = (self.clone(), tls.clone());
            tokio::spawn(async move {
                let Ok(stream) = tls.accept(stream).await else {
                    return;
                };
                let service = service_fn(move |request| hooks.clone().answer(request));
                // A cut connection is one of the answers that a case may ask for.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
        let (parts, body) = request.into_parts();
        let raw = body.collect().await?.to_bytes();
        let body: Value =
            serde_json::from_slice(&raw).unwrap_or_else(|_| String::from_utf8_lossy(&raw).into());
        let uid = body.pointer("/request/uid").cloned().unwrap_or_default();
        let path = parts.uri.path().to_owned();
        let answer = {
            let mut scripts = self.lock();
            let script = scripts.entry(path).or_default();
            if is_probe(&body) {
                // A hook of a case allows the probes of other cases, and records no call.
                let mut allowed = enveloped(&json!({}));
                allowed.body["apiVersion"] = body["apiVersion"].clone();
                Some(allowed)
            } else if let Some(converter) = &script.converter {
                let answer = converter.answer(&body)?;
                script.calls.push(Call {
                    request: format!("{} {}", parts.method, parts.uri),
                    headers: parts.headers,
                    body,
                    raw,
                });
                Some(answer)
            } else {
                script.count += 1;
                script.calls.push(Call {
                    request: format!("{} {}", parts.method, parts.uri),
                    headers: parts.headers,
                    body,
                    raw,
                });
                let last = script.answers.len().saturating_sub(1);
                script.answers.get(last.min(script.count - 1)).cloned()
            }
        };
        let answer = answer.unwrap_or_else(|| enveloped(&json!({})));
        tokio::time::sleep(Duration::from_millis(answer.delay)).await;
        anyhow::ensure!(!answer.close, "the case wants the connection closed");
        let mut vars = Vars::default();
        vars.set("uid", uid);
        let body = match vars.value(&answer.body) {
            Value::Null => String::new(),
            Value::String(text) => text,
            structure => structure.to_string(),
        };
        let mut response = Response::builder().status(answer.status.unwrap_or(200));
        if !answer
            .headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("content-type"))
        {
            response = response.header("content-type", "application/json");
        }
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        Ok(response.body(Full::new(Bytes::from(body)))?)
    }
}

/// An AdmissionReview around a `response`: allowed unless it says otherwise, its patch encoded.
fn enveloped(response: &Value) -> Raw {
    let mut response = response.clone();
    if let Value::Object(fields) = &mut response {
        fields.entry("uid").or_insert_with(|| "{uid}".into());
        fields.entry("allowed").or_insert(true.into());
        if let Some(patch) = fields.get_mut("patch").filter(|patch| patch.is_array()) {
            *patch = STANDARD.encode(patch.to_string()).into();
            fields.entry("patchType").or_insert("JSONPatch".into());
        }
        // A case says `~` for a field that is to be missing.
        fields.retain(|_, value| !value.is_null());
    }
    Raw {
        body: json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}),
        ..Raw::default()
    }
}

fn is_probe(review: &Value) -> bool {
    let labels = review.pointer("/request/object/metadata/labels");
    labels.is_some_and(|labels| labels.get(PROBE).is_some())
}

/// The certificate of every connection: for this machine, and for the service that the client names, unless the name
/// of the service begins with `wrong`. One that begins with `unnamed` has its name in no place that is still looked at.
#[derive(Debug)]
struct Certificates {
    authority: Authority,
    own: Arc<CertifiedKey>,
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let Some(name) = hello.server_name() else {
            return Some(self.own.clone());
        };
        let is_service = name.rsplit_once('.').is_some_and(|(_, last)| last == "svc");
        if !is_service || name.starts_with("wrong") {
            return Some(self.own.clone());
        }
        let issued = if name.starts_with("unnamed") {
            // What clients are told apart by is what servers were called once: the common name.
            self.authority.sign_client(name, "hooks", LIFETIME)
        } else {
            self.authority.sign_server([name], LIFETIME)
        };
        let issued = issued.ok()?;
        Some(issued.identity().ok()?.certified_key())
    }
}
