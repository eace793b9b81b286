//! How a listener proves what it is, and whose client certificates it accepts.

use std::net::IpAddr;
use std::sync::Arc;

use kubewright_auth::Access;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::clients::Clients;
use super::error::{ListenError, tls};

/// The serving certificate of a listener, and the authority of its clients' certificates.
///
/// Without a setting the server makes an authority, and a serving certificate for the names of the API server and the address.
///
/// # Example: a client that has its certificate from an authority of the user's own
///
/// ```
/// use kubewright_apiserver::{ApiServer, SecureServing};
/// use rcgen::{CertificateParams, IsCa, BasicConstraints, KeyPair};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = KeyPair::generate()?;
/// let mut params = CertificateParams::default();
/// params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
/// let authority = params.self_signed(&key)?;
///
/// let serving = SecureServing::default().client_ca(authority.pem())?;
/// let listening = ApiServer::start().listen_with(([127, 0, 0, 1], 0), serving).await?;
/// # listening.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "handed to `ApiServer::listen_with`"]
pub struct SecureServing {
    identity: Option<Identity>,
    client_ca: Option<Vec<CertificateDer<'static>>>,
}

/// A serving certificate that was given.
#[derive(Debug)]
struct Identity {
    certified: CertifiedKey,
    pem: String,
}

/// What the settings of a listener come to.
#[derive(Debug)]
pub(super) struct Tls {
    pub(super) config: ServerConfig,
    pub(super) clients: Arc<Clients>,
    /// What clients have to trust, unless it is the server's own authority.
    pub(super) trust: Option<String>,
    /// Whether the certificates of the server's own authority let clients in.
    pub(super) own_clients: bool,
}

impl SecureServing {
    /// Serves with this certificate chain and private key, both PEM: `--tls-cert-file` and `--tls-private-key-file`.
    ///
    /// # Errors
    /// The chain or the key cannot be read, or they do not belong together.
    pub fn certificate(
        mut self,
        chain: impl Into<String>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, ListenError> {
        let pem = chain.into();
        let chain = certificates(&pem, "serving certificate")?;
        let key =
            PrivateKeyDer::from_pem_slice(key.as_ref()).map_err(|error| ListenError::Pem {
                what: "private key of the serving certificate",
                source: error.into(),
            })?;
        let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(tls)?;
        self.identity = Some(Identity { certified, pem });
        Ok(self)
    }

    /// Accepts the client certificates that one of these authorities has signed, instead of those of the server's own
    /// authority: `--client-ca-file`. The common name is the user, each organization a group. A client needs no certificate;
    /// one with a certificate of another authority gets 401 unless it has a valid token.
    ///
    /// # Errors
    /// The PEM cannot be read, or contains no certificate.
    pub fn client_ca(mut self, authorities: impl AsRef<[u8]>) -> Result<Self, ListenError> {
        self.client_ca = Some(certificates(authorities, "client CA")?);
        Ok(self)
    }

    /// The settings of a listener at this address.
    pub(super) fn tls(self, access: &Access, address: IpAddr) -> Result<Tls, ListenError> {
        let own_clients = self.client_ca.is_none();
        let authorities = match self.client_ca {
            Some(authorities) => authorities,
            None => vec![access.authority()?.certificate().clone()],
        };
        let (certified, trust) = if let Some(given) = self.identity {
            (given.certified, Some(given.pem))
        } else {
            let made = access.authority()?.serving(address)?;
            let certified = CertifiedKey::from_der(made.chain, made.key, &provider());
            (certified.map_err(tls)?, None)
        };
        let provider = Arc::new(provider());
        let clients = Arc::new(Clients::of(authorities, provider.clone())?);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(tls)?
            .with_client_cert_verifier(clients.clone())
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls {
            config,
            clients,
            trust,
            own_clients,
        })
    }
}

fn certificates(
    pem: impl AsRef<[u8]>,
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, ListenError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_ref()).collect();
    let read = match read {
        Ok(read) if read.is_empty() => Err(rustls_pki_types::pem::Error::NoItemsFound),
        read => read,
    };
    read.map_err(|error| ListenError::Pem {
        what,
        source: error.into(),
    })
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}
