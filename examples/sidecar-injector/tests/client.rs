//! An HTTPS client that trusts only a given CA bundle, as an API server does.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright::certificates::TrustBundle;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Opens a connection, which fails if the certificate is not signed by `trust`.
pub(crate) async fn connect(
    address: SocketAddr,
    trust: &TrustBundle,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trust.certificates().iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TcpStream::connect(address).await?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// Posts a review to the injector and returns the body of the answer.
pub(crate) async fn inject(
    address: SocketAddr,
    trust: &TrustBundle,
    review: &str,
) -> io::Result<Vec<u8>> {
    let request = format!(
        "POST /inject?timeout=10s HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{review}",
        review.len()
    );
    call(address, trust, &request).await
}

/// Gets a text.
pub(crate) async fn get(
    address: SocketAddr,
    trust: &TrustBundle,
    path: &str,
) -> io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let body = call(address, trust, &request).await?;
    Ok(String::from_utf8(body).unwrap())
}

async fn call(address: SocketAddr, trust: &TrustBundle, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = connect(address, trust).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    assert!(
        answer.starts_with(b"HTTP/1.1 200 "),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    let body = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap()
        + 4;
    Ok(answer.split_off(body))
}
