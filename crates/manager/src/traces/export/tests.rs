//! Spans as a collector gets them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_certificates::SelfSigned;
use kubewright_controller::{Action, Context, Controller, Reader};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span as SentSpan;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tower::ServiceExt as _;

use super::*;
use crate::logging::{self, LogFormat};
use crate::traces::Continued;
use crate::{App, Needs, Program};

/// A collector as it is found beside programs: it takes OTLP by HTTP, in protobuf.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

impl Collector {
    async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let collector = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let collector = collector.clone();
                let service = hyper::service::service_fn(move |request| {
                    let collector = collector.clone();
                    async move { collector.take(request).await }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        address
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Response<String>, Infallible> {
        assert_eq!(request.uri().path(), "/v1/traces");
        assert_eq!(request.headers()["content-type"], "application/x-protobuf");
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let batch = ExportTraceServiceRequest::decode(body).unwrap();
        self.0.lock().unwrap().push(batch);
        Ok(Response::new(String::new()))
    }

    fn spans(&self) -> Vec<SentSpan> {
        let batches = self.0.lock().unwrap();
        let resources = batches.iter().flat_map(|batch| &batch.resource_spans);
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }
}

fn attributes(span: &SentSpan) -> HashMap<&str, String> {
    let attributes = span.attributes.iter();
    attributes
        .map(|attribute| {
            let value = attribute
                .value
                .as_ref()
                .and_then(|value| value.value.as_ref());
            let text = match value.unwrap() {
                Value::StringValue(text) => text.clone(),
                Value::IntValue(number) => number.to_string(),
                Value::BoolValue(is) => is.to_string(),
                other => panic!("{other:?}"),
            };
            (attribute.key.as_str(), text)
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    let hex = |hex: String, byte: &u8| hex + &format!("{byte:02x}");
    bytes.iter().fold(String::new(), hex)
}

fn app(needs: &mut Needs) -> App {
    let maps: Reader<ConfigMap> = needs.reader();
    let read = maps.clone();
    let validate = move |_: Change<Pod>, _: Review| {
        let maps = read.clone();
        async move {
            maps.get(("b", "reviewed")).await?;
            Ok(()) as Validated
        }
    };
    let reconcile = move |_: Arc<Pod>, _: Context| {
        let maps = maps.clone();
        async move {
            maps.get(("b", "reconciled")).await?;
            Ok(Action::await_change())
        }
    };
    App::new("gardens")
        .webhooks(Webhooks::new("example.com").with(validating("pods", validate)))
        .controller(Controller::new("pods", reconcile))
}

/// An API server with one pod, which tells with which trace parent each ConfigMap was asked for.
fn api_server() -> (kube::Client, mpsc::UnboundedReceiver<(String, String)>) {
    let (sender, parents) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let sender = sender.clone();
        async move {
            let path = request.uri().path();
            let body = if let Some((_, name)) = path.split_once("/configmaps/") {
                let parent = request.headers().get("traceparent");
                let parent = parent.map_or("", |parent| parent.to_str().unwrap());
                let _ = sender.send((name.to_owned(), parent.to_owned()));
                format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"a":"hunter2"}}}}"#)
            } else {
                let pod = r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"},"spec":{"containers":[{"name":"c","image":"hunter2"}]}}}"#;
                let end = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
                format!("{pod}\n{end}\n")
            };
            Ok::<_, std::io::Error>(Response::new(body))
        }
    });
    (kube::Client::new(service, "default"), parents)
}

fn review(parent: &str) -> Request<String> {
    let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"9d6e",
        "kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
        "name":"web","namespace":"b","operation":"CREATE","dryRun":true,"userInfo":{"username":"hunter2"},
        "object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"hunter2"}]}}}}"#;
    Request::post("/pods?timeout=10s")
        .header("content-type", "application/json")
        .header("traceparent", parent)
        .body(review.to_owned())
        .unwrap()
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const QUIET: &str = "5bf92f3577b34da6a3ce929d0e0e4737";
const CALLER: &str = "00f067aa0ba902b7";

#[tokio::test(flavor = "multi_thread")]
async fn reviews_reconciles_and_their_calls_are_traced_from_the_caller_to_the_api_server() {
    let collector = Collector::default();
    let flags = TraceFlags {
        otlp_endpoint: Some(format!("http://{}/", collector.start().await)),
        trace_ratio: Some(1.0),
    };
    let started = Exporter::start(&flags, "gardens", &Handle::current());
    let (exporter, spans) = started.unwrap().unwrap();
    logging::start(LogFormat::Text, &"off".parse().unwrap(), Some(spans)).unwrap();

    let (client, mut parents) = api_server();
    let program = Program::new(app).client(client);
    let webhooks = Continued(program.app().hooks().clone());
    let certificates = SelfSigned::for_names(["127.0.0.1"]);
    let serving = program
        .bind(([127, 0, 0, 1], 0), certificates)
        .await
        .unwrap();
    let running = tokio::spawn(serving.run(std::future::pending()));
    let (name, of_reconcile) = parents.recv().await.unwrap();
    assert_eq!(name, "reconciled");

    let mut parent_of = async |parent: &str| {
        let answer = webhooks.clone().oneshot(review(parent)).await.unwrap();
        assert_eq!(answer.status(), 200);
        loop {
            let (name, parent) = parents.recv().await.unwrap();
            if name == "reviewed" {
                return parent;
            }
        }
    };
    let of_review = parent_of(&format!("00-{TRACE}-{CALLER}-01")).await;
    // A caller that opts out of tracing is not traced, and neither are the calls that the program makes for it.
    let of_quiet = parent_of(&format!("00-{QUIET}-{CALLER}-00")).await;
    assert!(of_quiet.starts_with(&format!("00-{QUIET}-")), "{of_quiet}");
    assert!(of_quiet.ends_with("-00"), "{of_quiet}");
    running.abort();
    tokio::task::spawn_blocking(|| exporter.finish())
        .await
        .unwrap();

    let spans = collector.spans();
    let find = |name: &str, trace: &str| {
        let found = spans
            .iter()
            .find(|span| span.name == name && hex(&span.trace_id) == trace);
        found.unwrap_or_else(|| panic!("no {name} of {trace}: {spans:#?}"))
    };
    let reviewed = find("review", TRACE);
    assert_eq!(hex(&reviewed.parent_span_id), CALLER);
    assert_eq!(reviewed.kind, 2, "of a server");
    let told = attributes(reviewed);
    for (name, value) in [
        ("webhook", "pods"),
        ("uid", "9d6e"),
        ("operation", "CREATE"),
        ("kind", "Pod"),
        ("namespace", "b"),
        ("name", "web"),
        ("dry_run", "true"),
        ("decision", "allowed"),
        ("code", "200"),
    ] {
        assert_eq!(
            told.get(name).map(String::as_str),
            Some(value),
            "{name}: {told:?}"
        );
    }
    let called = find("call", TRACE);
    assert_eq!(called.parent_span_id, reviewed.span_id);
    assert_eq!(called.kind, 3, "of a client");
    assert_eq!(attributes(called)["verb"], "get");
    assert_eq!(of_review, format!("00-{TRACE}-{}-01", hex(&called.span_id)));

    let reconciled = find("reconcile", of_reconcile.split('-').nth(1).unwrap());
    assert!(
        reconciled.parent_span_id.is_empty(),
        "no caller has a trace for it"
    );
    let told = attributes(reconciled);
    assert_eq!((&*told["controller"], &*told["name"]), ("pods", "a"));
    let called = find("call", &hex(&reconciled.trace_id));
    assert_eq!(called.parent_span_id, reconciled.span_id);
    assert_eq!(of_reconcile.split('-').nth(2), Some(&*hex(&called.span_id)));

    assert!(spans.iter().all(|span| hex(&span.trace_id) != QUIET));
    let everything = format!("{:?}", collector.0.lock().unwrap());
    assert!(!everything.contains("hunter2"), "{everything}");
    assert!(everything.contains("gardens"), "the name of the service");
}

#[test]
fn a_ratio_is_a_part_of_the_whole() {
    assert_eq!(
        (ratio("0"), ratio("0.01"), ratio("1")),
        (Ok(0.0), Ok(0.01), Ok(1.0))
    );
    for wrong in ["", "2", "-1", "half", "nan"] {
        assert!(ratio(wrong).is_err(), "{wrong}");
    }
}
