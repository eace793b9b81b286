//! A TLS client that verifies what it is shown, in HTTP/1.1, HTTP/2 and raw bytes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_certificates::{Identity, TrustBundle};
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) const HTTP1: &[u8] = b"http/1.1";
pub(crate) const HTTP2: &[u8] = b"h2";

/// Connects to one server under the name `localhost`.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    connector: TlsConnector,
    is_http2: bool,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, trust: &TrustBundle, protocol: &[u8]) -> Self {
        Self::with_versions(address, trust, protocol, rustls::ALL_VERSIONS)
    }

    pub(crate) fn with_versions(
        address: SocketAddr,
        trust: &TrustBundle,
        protocol: &[u8],
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots(trust))
            .with_no_client_auth();
        Self::of(address, config, protocol)
    }

    /// A client with a certificate of its own.
    pub(crate) fn showing(
        address: SocketAddr,
        trust: &TrustBundle,
        protocol: &[u8],
        identity: &Identity,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = identity.certified_key();
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots(trust))
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
        Self::of(address, config, protocol)
    }

    pub(crate) fn of(address: SocketAddr, mut config: ClientConfig, protocol: &[u8]) -> Self {
        config.alpn_protocols = vec![protocol.to_vec()];
        Self {
            address,
            connector: TlsConnector::from(Arc::new(config)),
            is_http2: protocol == HTTP2,
        }
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.is_http2
    }

    pub(crate) async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        self.secure(TcpStream::connect(self.address).await?).await
    }

    /// Performs the TLS handshake on an open TCP connection.
    pub(crate) async fn secure(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").unwrap();
        self.connector.connect(name, stream).await
    }

    pub(crate) async fn http1(&self) -> Result<http1::SendRequest<Full<Bytes>>, BoxError> {
        Self::http1_over(self.connect().await?).await
    }

    pub(crate) async fn http1_over(
        stream: TlsStream<TcpStream>,
    ) -> Result<http1::SendRequest<Full<Bytes>>, BoxError> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    pub(crate) async fn http2(&self) -> Result<http2::SendRequest<Full<Bytes>>, BoxError> {
        Self::http2_over(self.connect().await?).await
    }

    pub(crate) async fn http2_over(
        stream: TlsStream<TcpStream>,
    ) -> Result<http2::SendRequest<Full<Bytes>>, BoxError> {
        let io = TokioIo::new(stream);
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

pub(crate) fn roots(trust: &TrustBundle) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for certificate in trust.certificates() {
        roots.add(certificate.clone()).unwrap();
    }
    roots
}

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(format!("https://localhost{path}"))
        .header("host", "localhost")
        .body(Full::new(body.into()))
        .unwrap()
}

pub(crate) fn get(path: &str) -> Request<Full<Bytes>> {
    let mut request = post(path, "");
    *request.method_mut() = http::Method::GET;
    request
}

/// The status and the text of an answer.
pub(crate) async fn text(response: Response<Incoming>) -> (u16, String) {
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}
