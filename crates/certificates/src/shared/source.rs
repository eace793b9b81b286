//! The identities of a replica, as its rotation signs them.

use tokio::sync::watch;

use crate::{CertificateError, CertificateSource, Identity, names};

/// Source of the certificates that a [`Rotation`](crate::Rotation) signs. It yields only while the rotation runs.
///
/// ```
/// use kube::Client;
/// use kubewright_apiserver::ApiServer;
/// use kubewright_certificates::{CertificateSource, SharedAuthority};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(ApiServer::start().service(), "default");
/// let authority = SharedAuthority::in_secret("policy-certs").for_service("policy");
/// let (mut source, rotation) = authority.connect(client, "default");
/// tokio::spawn(rotation.run(()));
/// let identity = source.next().await?;
/// let (_, certificate) = x509_parser::parse_x509_certificate(&identity.chain()[0])?;
/// assert_eq!(certificate.subject().to_string(), "CN=policy.default.svc");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SharedSource {
    identities: watch::Receiver<Option<Identity>>,
    names: Vec<String>,
}

impl SharedSource {
    pub(crate) fn new(identities: watch::Receiver<Option<Identity>>, names: Vec<String>) -> Self {
        Self { identities, names }
    }
}

impl CertificateSource for SharedSource {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        // No authority signs a certificate for an invalid name.
        names::parse(&self.names)?;
        while self.identities.changed().await.is_ok() {
            if let Some(identity) = self.identities.borrow_and_update().clone() {
                return Ok(identity);
            }
        }
        // The rotation was dropped: the server keeps the last certificate.
        std::future::pending().await
    }
}
