//! Whether the other end of a stream is the program: by the CA that API servers are told to trust for its webhooks.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use http::Uri;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::ListParams;
use kube::{Api, Client};
use kubewright_certificates::TrustBundle;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::doctor::{read_bundle, webhooks};
use crate::failure::{Failure, Outcome};

/// How the certificate of a program is verified.
#[derive(Clone)]
pub(crate) struct Verification {
    /// The name that the certificate has.
    name: String,
    config: Arc<ClientConfig>,
}

impl Verification {
    /// By these authorities.
    pub(crate) fn by(trust: &[TrustBundle], name: &str) -> Outcome<Self> {
        let mut roots = RootCertStore::empty();
        let certificates = trust.iter().flat_map(TrustBundle::certificates);
        roots.add_parsable_certificates(certificates.cloned());
        let config = builder()?.with_root_certificates(roots);
        Ok(Self::of(config.with_no_client_auth(), name))
    }

    /// Not at all.
    pub(crate) fn skipped(name: &str) -> Outcome<Self> {
        let verifier = Arc::new(NoVerification(provider()));
        let config = builder()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        Ok(Self::of(config.with_no_client_auth(), name))
    }

    fn of(config: ClientConfig, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            config: Arc::new(config),
        }
    }

    pub(super) fn host(&self) -> &str {
        &self.name
    }

    pub(super) async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> Outcome<TlsStream<S>> {
        let name = ServerName::try_from(self.name.clone());
        let name = name.with_context(|| format!("`{}` is no name of a server", self.name))?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        connector.connect(name, stream).await.map_err(|error| {
            let failure = match error.get_ref().and_then(|error| error.downcast_ref()) {
                Some(Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })) => {
                    "name the server as its certificate does, with --server-name"
                }
                Some(Error::InvalidCertificate(_)) => {
                    "pass the CA of the certificate with --ca-file; a program without webhooks makes a certificate at startup that no one can verify: \
                     --insecure-skip-tls-verify accepts it"
                }
                _ => "call `App::secure_metrics` in the code of the program: it then serves its metrics and this page over HTTPS",
            };
            Failure::from(anyhow::Error::from(error).context("cannot connect to the program over TLS")).hint(failure)
        })
    }
}

/// By the CAs in a file.
pub(crate) fn of_file(path: &Path, name: &str) -> Outcome<Verification> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let trust = TrustBundle::from_pem(text);
    let trust = trust.with_context(|| format!("cannot use {}", path.display()))?;
    Verification::by(&[trust], name)
}

/// By the `caBundle`s of the webhooks that are called at the Services of a pod.
pub(crate) async fn of_pod(client: &Client, pod: &Pod) -> Outcome<Verification> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let services = services.list(&ListParams::default()).await;
    let services = services
        .context("cannot list the Services of the pod")?
        .items;
    let of_pod = services.into_iter().filter(|service| selects(service, pod));
    let names: Vec<String> = of_pod.filter_map(|service| service.metadata.name).collect();
    let mut trust = Vec::new();
    let mut name = None;
    for known in webhooks(client).await.map_err(by_file)? {
        let config = known.client_config();
        let service = &config["service"];
        let called = service["name"].as_str().unwrap_or_default();
        let bundle = config["caBundle"].as_str().and_then(read_bundle);
        if service["namespace"] == namespace && names.iter().any(|known| known == called) {
            name = Some(format!("{called}.{namespace}.svc"));
            trust.extend(bundle);
        }
    }
    match name {
        Some(name) if !trust.is_empty() => Verification::by(&trust, &name),
        _ => Err(unknown()),
    }
}

/// By the `caBundle`s of the webhooks that are called by a URL of this host.
pub(crate) async fn of_address(client: &Client, host: &str) -> Outcome<Verification> {
    let mut trust = Vec::new();
    for known in webhooks(client).await.map_err(by_file)? {
        let config = known.client_config();
        let url = config["url"]
            .as_str()
            .and_then(|url| url.parse::<Uri>().ok());
        let is_it = url
            .is_some_and(|url| url.host().map(|host| host.trim_matches(['[', ']'])) == Some(host));
        if is_it {
            trust.extend(config["caBundle"].as_str().and_then(read_bundle));
        }
    }
    if trust.is_empty() {
        return Err(unknown());
    }
    Verification::by(&trust, host)
}

fn unknown() -> Failure {
    Failure::new("no webhook of the cluster says which CA the program's certificate is of").hint(
        "pass the CA with --ca-file and the name in the certificate with --server-name; a program without webhooks makes a certificate at startup \
         that no one can verify: --insecure-skip-tls-verify accepts it",
    )
}

fn by_file(failure: Failure) -> Failure {
    failure.hint("pass the CA of the program's certificate with --ca-file, and the name in it with --server-name")
}

fn selects(service: &Service, pod: &Pod) -> bool {
    let selector = service
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref());
    let labels = pod.metadata.labels.as_ref();
    selector.is_some_and(|selector| {
        let has = |(name, value): (&String, &String)| {
            labels.and_then(|labels| labels.get(name)) == Some(value)
        };
        !selector.is_empty() && selector.iter().all(has)
    })
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn builder() -> Outcome<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.context("cannot set up TLS");
    builder.map_err(Failure::internal)
}

/// Accepts every certificate whose holder has its key.
#[derive(Debug)]
struct NoVerification(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for Verification {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Verification")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
