//! Sending spans by OTLP, as the variables and defaults of OpenTelemetry say.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry::context::ContextGuard;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{TraceContextExt as _, TraceId, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HeaderExtractor, HeaderInjector, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tracing::{Level, Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::filter_fn;

use crate::logging::Spans;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct TraceFlags {
    #[arg(
        long,
        value_name = "URL",
        help = "Send traces by OTLP (HTTP, protobuf) to this collector, such as http://localhost:4318 [default: OTEL_EXPORTER_OTLP_ENDPOINT]"
    )]
    pub(crate) otlp_endpoint: Option<String>,

    #[arg(
        long,
        value_name = "RATIO",
        value_parser = ratio,
        help = "Sampling ratio of traces that start here, from 0 to 1; callers decide about their traces [default: 1]"
    )]
    pub(crate) trace_ratio: Option<f64>,
}

/// What sends the spans of a program.
#[derive(Debug)]
pub(crate) struct Exporter(SdkTracerProvider);

impl Exporter {
    /// Begins to send what the layer hears of, if there is somewhere to send it.
    pub(crate) fn start(
        flags: &TraceFlags,
        program: &str,
        runtime: &Handle,
    ) -> Result<Option<(Self, Spans)>, Box<dyn Error + Send + Sync>> {
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_off = said("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || said("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let variables = [
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ];
        let endpoint = flags.otlp_endpoint.as_deref();
        if endpoint.is_none() && (is_off || !variables.iter().any(|name| said(name).is_some())) {
            return Ok(None);
        }
        let protocols = [
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            "OTEL_EXPORTER_OTLP_PROTOCOL",
        ];
        if let Some(protocol) = protocols.iter().find_map(|name| said(name))
            && protocol != "http/protobuf"
        {
            return Err(format!(
                "the protocol {protocol} is not spoken here; say http/protobuf, and the collector's port for it (4318 by custom)"
            )
            .into());
        }
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender::new(runtime)?);
        let exporter = match endpoint {
            Some(endpoint) => exporter
                .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
                .build()?,
            None => exporter.build()?,
        };
        let mut resource = Resource::builder();
        if said("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_attribute(KeyValue::new("service.name", program.to_owned()));
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build());
        let provider = match flags.trace_ratio {
            Some(ratio) => provider.with_sampler(Sampler::ParentBased(Box::new(
                Sampler::TraceIdRatioBased(ratio),
            ))),
            None => provider,
        };
        let provider = provider.build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("kubewright"))
            .with_location(false)
            .with_threads(false)
            .with_filter(filter_fn(is_sent));
        Ok(Some((Self(provider), layer.boxed())))
    }

    /// Sends what is left, within a moment.
    pub(crate) fn finish(self) {
        if let Err(error) = self.0.shutdown_with_timeout(Duration::from_secs(2)) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Selects the toolkit's spans from the level `debug`, and all other spans and events from the level `info`.
fn is_sent(metadata: &Metadata<'_>) -> bool {
    let is_ours = metadata.is_span() && metadata.target().starts_with("kubewright_");
    let least = if is_ours { Level::DEBUG } else { Level::INFO };
    *metadata.level() <= least
}

/// The trace that a call belongs to, if it says so.
pub(super) fn parent(headers: &HeaderMap) -> Option<Context> {
    headers.contains_key("traceparent").then(|| {
        let none = Context::new();
        TraceContextPropagator::new().extract_with_context(&none, &HeaderExtractor(headers))
    })
}

pub(super) fn attach(parent: Context) -> ContextGuard {
    parent.attach()
}

pub(super) fn trace_id(span: &Span) -> Option<String> {
    let context = span.context();
    let trace = context.span().span_context().trace_id();
    (trace != TraceId::INVALID).then(|| trace.to_string())
}

pub(super) fn pass_on(span: &Span, headers: &mut HeaderMap) {
    let context = span.context();
    TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(headers));
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text
        .parse()
        .ok()
        .filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "a ratio is a number from 0 to 1".to_owned())
}

/// Sends batches from the exporter's thread over this program's runtime.
#[derive(Debug)]
struct Sender {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    runtime: Handle,
}

impl Sender {
    fn new(runtime: &Handle) -> std::io::Result<Self> {
        let ring = rustls::crypto::ring::default_provider();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(ring)?
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            runtime: runtime.clone(),
        })
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        // Timers and connections want the runtime, and this is called beside it.
        let exchange = self.runtime.spawn(async move {
            let exchange = async {
                let answer = client.request(request.map(Full::new)).await?;
                let (head, body) = answer.into_parts();
                let body = Limited::new(body, LARGEST_ANSWER).collect().await?;
                Ok::<_, HttpError>(Response::from_parts(head, body.to_bytes()))
            };
            timeout(EXPORT_TIMEOUT, exchange).await
        });
        exchange.await??
    }
}

const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
const LARGEST_ANSWER: usize = 64 * 1024;

#[cfg(test)]
mod tests;
