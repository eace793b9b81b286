//! The limit: hyper and rustls, a body that is read and thrown away, and a constant answer.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_certificates::Identity;
use rustls::server::ResolvesServerCert;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const ANSWER: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}"#;

/// Serves for ever.
pub(crate) async fn serve(listener: TcpListener, identity: &Identity) -> Result<()> {
    let key = rustls::sign::SingleCertAndKey::from(identity.certified_key());
    let acceptor = acceptor(Arc::new(key))?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(tls) = acceptor.accept(stream).await else {
                return;
            };
            let _ = http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(tls), service_fn(answer::<Incoming>))
                .await;
        });
    }
}

/// The TLS of a server with these certificates.
pub(crate) fn acceptor(certificates: Arc<dyn ResolvesServerCert>) -> Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Reads the body and throws it away.
pub(crate) async fn answer<B>(request: Request<B>) -> Result<Response<Full<Bytes>>, Infallible>
where
    B: http_body::Body + Unpin,
{
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}
