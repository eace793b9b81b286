//! Connections to the members of an etcd cluster: with TLS or without, and to the next member when one is gone.

use std::path::Path;
use std::sync::Arc;

use http::Uri;
use hyper::client::conn::http2::Builder;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kubewright_storage::BackendError;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Duration, timeout};
use tokio_rustls::TlsConnector;

use crate::grpc::{CallError, Channel};
use crate::options::EtcdOptions;

/// As of kube-apiserver's client.
const DIAL_TIMEOUT: Duration = Duration::from_secs(20);
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Lists of objects are large: a window of this size lets them arrive without waiting for updates of the window.
const WINDOW: u32 = 4 << 20;

/// The members, and the connection to one of them.
#[derive(Debug)]
pub(crate) struct Members {
    uris: Vec<Uri>,
    tls: Option<Arc<ClientConfig>>,
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
struct Current {
    channel: Option<Channel>,
    member: usize,
}

impl Members {
    /// # Errors
    /// A URL is invalid, or a file cannot be read.
    pub(crate) fn new(options: &EtcdOptions) -> Result<Self, BackendError> {
        let uri = |server: &String| {
            let uri = server.parse::<Uri>().ok().filter(|uri| {
                matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some()
            });
            uri.ok_or_else(|| {
                let doing = format!("reading the URL {server:?} of an etcd server");
                BackendError::new(
                    doing,
                    "it is not of the form http://HOST:PORT or https://HOST:PORT",
                )
            })
        };
        let uris: Vec<Uri> = options.servers.iter().map(uri).collect::<Result<_, _>>()?;
        if uris.is_empty() {
            return Err(BackendError::new(
                "connecting to etcd",
                "no server is given",
            ));
        }
        let is_secure = uris.iter().any(|uri| uri.scheme_str() == Some("https"));
        Ok(Self {
            uris,
            tls: is_secure.then(|| tls(options)).transpose()?,
            current: Mutex::default(),
        })
    }

    /// Returns a connection; a new one, to the next member, if the last was lost.
    pub(crate) async fn channel(&self) -> Result<Channel, CallError> {
        let mut current = self.current.lock().await;
        if let Some(channel) = current
            .channel
            .as_ref()
            .filter(|channel| !channel.is_closed())
        {
            return Ok(channel.clone());
        }
        let mut last = CallError::NotSent(String::new());
        for _ in 0..self.uris.len() {
            let uri = &self.uris[current.member % self.uris.len()];
            let connecting = timeout(DIAL_TIMEOUT, self.connect(uri));
            match connecting
                .await
                .unwrap_or_else(|_| Err("it timed out".into()))
            {
                Ok(channel) => {
                    current.channel = Some(channel.clone());
                    return Ok(channel);
                }
                Err(error) => {
                    last = CallError::NotSent(format!("connecting to {uri}: {error}"));
                    current.member += 1;
                }
            }
        }
        Err(last)
    }

    async fn connect(
        &self,
        uri: &Uri,
    ) -> Result<Channel, Box<dyn std::error::Error + Send + Sync>> {
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(2379);
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            Some(tls) if uri.scheme_str() == Some("https") => {
                let name = ServerName::try_from(host.to_owned())?;
                let connector = TlsConnector::from(tls.clone());
                shake_hands(connector.connect(name, stream).await?, uri).await
            }
            _ => shake_hands(stream, uri).await,
        }
    }
}

async fn shake_hands(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    uri: &Uri,
) -> Result<Channel, Box<dyn std::error::Error + Send + Sync>> {
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(2 * WINDOW)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(async move {
        // Its calls tell of its end.
        let _ = connection.await;
    });
    Ok(Channel::new(sender, uri.clone()))
}

fn tls(options: &EtcdOptions) -> Result<Arc<ClientConfig>, BackendError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &options.ca_file {
        for certificate in certificates(path)? {
            roots
                .add(certificate)
                .map_err(|cause| reading(path, cause))?;
        }
    } else {
        let system = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(system.certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| BackendError::new("setting up TLS for etcd", cause))?
        .with_root_certificates(roots);
    let mut config = match &options.client_files {
        Some((cert, key)) => {
            let chain = certificates(cert)?;
            let private = PrivateKeyDer::from_pem_file(key).map_err(|cause| reading(key, cause))?;
            let config = builder.with_client_auth_cert(chain, private);
            config.map_err(|cause| reading(key, cause))?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, BackendError> {
    let all = CertificateDer::pem_file_iter(path).map_err(|cause| reading(path, cause))?;
    let all: Result<Vec<_>, _> = all.collect();
    let all = all.map_err(|cause| reading(path, cause))?;
    if all.is_empty() {
        return Err(reading(path, "it has no certificate"));
    }
    Ok(all)
}

fn reading(
    path: &Path,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> BackendError {
    BackendError::new(format!("reading {}", path.display()), cause)
}
