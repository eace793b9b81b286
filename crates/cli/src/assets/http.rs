//! Getting things by HTTP and HTTPS: redirects, proxies, and mirrors that fall silent.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, LOCATION, RANGE, USER_AGENT};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};

/// The body of an answer.
pub(crate) type Body = hyper::body::Incoming;

/// A client that believes the authorities of this machine.
#[derive(Debug)]
pub(crate) struct Http {
    tls: ClientConfig,
    proxies: Matcher,
    silence: Duration,
}

impl Http {
    /// A client that gives a server up after it has said nothing for as long as `silence`.
    pub(crate) fn new(silence: Duration) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        // Without any, mirrors with plain HTTP still work.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("cannot set TLS up")?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            tls,
            proxies: Matcher::from_env(),
            silence,
        })
    }

    /// Gets `address` from byte `from` on, and follows redirects.
    ///
    /// # Errors
    /// The server does not answer, redirects too often, or redirects from HTTPS to an unencrypted address.
    ///
    /// # Cancel safety
    /// The request ends when the future is dropped.
    pub(crate) async fn get(&self, address: &Uri, from: u64) -> anyhow::Result<Response<Body>> {
        let mut at = address.clone();
        for _ in 0..REDIRECTS {
            let answer = self.within(self.send(&at, from)).await??;
            if !answer.status().is_redirection() {
                return Ok(answer);
            }
            let location = answer.headers().get(LOCATION);
            let location = location.and_then(|location| location.to_str().ok());
            let Some(next) = location.and_then(|location| resolve(&at, location)) else {
                bail!("{at} redirects to nowhere");
            };
            if at.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
                bail!("{at} redirects to {next}, which is not encrypted");
            }
            at = next;
        }
        bail!("{address} redirects more than {REDIRECTS} times")
    }

    /// The next piece of a body.
    ///
    /// # Errors
    /// The connection broke, or the server fell silent.
    ///
    /// # Cancel safety
    /// No piece is lost when the future is dropped.
    pub(crate) async fn piece(&self, body: &mut Body) -> anyhow::Result<Option<Bytes>> {
        while let Some(frame) = self.within(body.frame()).await? {
            let frame = frame.context("the connection broke")?;
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Gets a whole document of at most `limit` bytes.
    ///
    /// # Errors
    /// The request fails, or the document is not UTF-8 or longer than `limit`.
    ///
    /// # Cancel safety
    /// The request ends when the future is dropped.
    pub(crate) async fn text(&self, address: &Uri, limit: usize) -> anyhow::Result<String> {
        let answer = self.get(address, 0).await?;
        if !answer.status().is_success() {
            bail!("the server answers {}", answer.status());
        }
        let mut body = answer.into_body();
        let mut text = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            text.extend_from_slice(&piece);
            if text.len() > limit {
                bail!("it has more than {limit} bytes");
            }
        }
        String::from_utf8(text).context("it is no text")
    }

    async fn send(&self, address: &Uri, from: u64) -> anyhow::Result<Response<Body>> {
        let host = address.authority().context("the address has no host")?;
        let mut request = Request::get(address)
            .header(HOST, host.as_str())
            .header(
                USER_AGENT,
                concat!("kubewright/", env!("CARGO_PKG_VERSION")),
            )
            // What is hashed is what is published.
            .header(ACCEPT_ENCODING, "identity");
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let request = request.body(Empty::<Bytes>::new())?;
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        let tls = HttpsConnectorBuilder::new()
            .with_tls_config(self.tls.clone())
            .https_or_http()
            .enable_http1();
        // A proxy is asked for a tunnel, so it is for https only, as most proxies have it.
        let proxy = self.proxies.intercept(address);
        let client = Client::builder(TokioExecutor::new());
        let answer = if let Some(proxy) = proxy.filter(|_| address.scheme_str() == Some("https")) {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), plain);
            if let Some(password) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(password.clone());
            }
            let client = client.build(tls.wrap_connector(tunnel));
            client.request(request).await
        } else {
            let client = client.build(tls.wrap_connector(plain));
            client.request(request).await
        };
        answer.with_context(|| format!("cannot reach {host}"))
    }

    async fn within<T>(&self, answer: impl Future<Output = T>) -> anyhow::Result<T> {
        tokio::time::timeout(self.silence, answer)
            .await
            .with_context(|| format!("the server said nothing for {} s", self.silence.as_secs()))
    }
}

/// The address that `link` is, seen from `base`.
pub(crate) fn resolve(base: &Uri, link: &str) -> Option<Uri> {
    let absolute = if link.contains("://") {
        link.to_owned()
    } else {
        let host = format!("{}://{}", base.scheme_str()?, base.authority()?);
        let (folder, _) = base.path().rsplit_once('/')?;
        match link.strip_prefix('/') {
            Some(path) => format!("{host}/{path}"),
            None => format!("{host}{folder}/{link}"),
        }
    };
    let uri: Uri = absolute.parse().ok()?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    (known && uri.host().is_some()).then_some(uri)
}

/// Whether two addresses are on one server.
pub(crate) fn same_host(one: &Uri, other: &Uri) -> bool {
    one.authority() == other.authority()
}

/// As many as browsers follow, and Go.
const REDIRECTS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_where_they_stand() {
        let base = Uri::from_static("https://host:8443/one/index.yaml");
        let resolved = |link| resolve(&base, link).map(|uri| uri.to_string());
        assert_eq!(resolved("a.tgz").unwrap(), "https://host:8443/one/a.tgz");
        assert_eq!(resolved("/a.tgz").unwrap(), "https://host:8443/a.tgz");
        assert_eq!(resolved("http://other/a").unwrap(), "http://other/a");
        for nowhere in ["file:///etc/passwd", "ftp://host/a", "http://", "a b"] {
            assert_eq!(resolved(nowhere), None, "{nowhere}");
        }
    }
}
