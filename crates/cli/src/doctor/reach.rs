//! Whether a server answers for a webhook.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http::Uri;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Client;
use kube::api::{Api, ListParams};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;

use super::finding::{Check, Finding};
use super::trust::read;
use crate::failure::Outcome;

/// What can be said about the way to a webhook.
pub(super) async fn findings(client: &Client, config: &Value) -> Outcome<Vec<Finding>> {
    if let Some(url) = config["url"].as_str() {
        return Ok(vec![by_url(url, &config["caBundle"]).await]);
    }
    let service = &config["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let called = format!("{namespace}/{name}");
    let port = service["port"].as_i64().unwrap_or(443);
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let Some(found) = services
        .get_opt(name)
        .await
        .context("cannot read Services")?
    else {
        let found = Finding::of(Check::NoService, [("service", &called)]);
        return Ok(vec![found]);
    };
    let ports = found.spec.and_then(|spec| spec.ports).unwrap_or_default();
    if !ports.iter().any(|known| i64::from(known.port) == port) {
        let found = Finding::of(
            Check::NoServicePort,
            [("service", &called), ("port", &port)],
        );
        return Ok(vec![found]);
    }
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
    let slices = slices
        .list(&of_service)
        .await
        .context("cannot read EndpointSlices")?;
    let endpoints = slices
        .items
        .iter()
        .flat_map(|slice| slice.endpoints.iter().flatten());
    let ready = endpoints.filter(|endpoint| {
        let conditions = endpoint.conditions.as_ref();
        conditions
            .and_then(|conditions| conditions.ready)
            .unwrap_or(true)
    });
    Ok(vec![match (ready.count(), slices.items.is_empty()) {
        (0, true) => Finding::of(Check::NoEndpointSlice, [("service", &called)]),
        (0, false) => Finding::of(Check::NoReadyEndpoint, [("service", &called)]),
        (ready, _) => Finding::good(format!("ready endpoints of the Service {called}: {ready}")),
    }])
}

/// Calls a URL as an API server would, though from here.
async fn by_url(url: &str, bundle: &Value) -> Finding {
    let shaken = tokio::time::timeout(CALL_TIMEOUT, shake_hands(url, bundle.as_str())).await;
    match shaken {
        Ok(Ok(())) => Finding::good(format!(
            "{url} answers from this machine, and its caBundle verifies the certificate"
        )),
        Ok(Err(error)) => {
            let error = format!("{error:#}");
            Finding::of(Check::UrlFails, [("url", &url), ("error", &error)])
        }
        Err(_) => {
            let seconds = CALL_TIMEOUT.as_secs();
            Finding::of(Check::UrlIsSilent, [("url", &url), ("seconds", &seconds)])
        }
    }
}

async fn shake_hands(url: &str, bundle: Option<&str>) -> anyhow::Result<()> {
    let url: Uri = url.parse().context("not a URL")?;
    let host = url
        .host()
        .context("the URL has no host")?
        .trim_matches(['[', ']']);
    let mut roots = RootCertStore::empty();
    match bundle.and_then(read) {
        Some(trust) => {
            roots.add_parsable_certificates(trust.certificates().iter().cloned());
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())?;
    let stream = TcpStream::connect((host, url.port_u16().unwrap_or(443))).await?;
    tokio_rustls::TlsConnector::from(Arc::new(tls))
        .connect(name, stream)
        .await?;
    Ok(())
}

/// As long as an API server waits by default.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
