//! Which clients may call, and what happens to the others.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kubewright_certificates::{CertificateError, ClientTrust, TrustBundle, TrustFile};

/// Which clients may call: those that present a certificate of a trusted authority with an allowed name.
///
/// This is how a webhook authenticates the API server, which presents a certificate if its admission configuration names one.
/// The server requests a certificate from every client and verifies it at each call: it answers a client that it does not
/// trust with 403 and a message that says why, before it reads the body. It answers health checks without a certificate, as
/// kubelets present none.
///
/// The server follows a file with the authorities, so that a change of it takes effect without a restart, on open
/// connections, too. A certificate that expires on an open connection is noticed within a minute.
///
/// # Example: find out first who calls, then refuse the others
///
/// ```
/// use kubewright_server::ClientCheck;
///
/// let check = ClientCheck::by_file("/etc/policy/client-ca.crt").named(["kube-apiserver"]);
/// let observing = check.observing(); // logs and counts, and refuses no client
/// ```
#[derive(Debug)]
#[must_use]
pub struct ClientCheck {
    authorities: Authorities,
    pub(super) rules: Rules,
}

#[derive(Debug)]
enum Authorities {
    Fixed(TrustBundle),
    File(TrustFile),
}

/// What does not change while the server runs.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) names: BTreeSet<String>,
    pub(super) open_paths: BTreeSet<String>,
    pub(super) mode: Mode,
}

/// What happens to a client that is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Refuse,
    Observe,
}

impl ClientCheck {
    /// Verifies clients by the CA certificates in this PEM file, and follows the file. The server waits for it if it does not
    /// exist yet.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::{ClientCheck, Server};
    /// use tower::service_fn;
    #[doc = include_str!("../client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let authority = Authority::new("clients")?;
    /// let file = std::env::temp_dir().join(format!("kubewright-client-ca-{}.crt", std::process::id()));
    /// std::fs::write(&file, authority.trust().to_pem())?;
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .clients(ClientCheck::by_file(&file))
    ///     .bind()
    ///     .await?;
    /// let api_server = authority.sign_client("kube-apiserver", "system", Duration::from_secs(60))?.identity()?;
    /// assert_eq!(ask_as(server, Some(&api_server), get("/")).await?.status(), 200);
    /// # std::fs::remove_file(&file)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn by_file(path: impl Into<PathBuf>) -> Self {
        Self::by(Authorities::File(TrustFile::at(path)))
    }

    /// Verifies clients by these CA certificates.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::{ClientCheck, Server};
    /// use tower::service_fn;
    #[doc = include_str!("../client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let authority = Authority::new("clients")?;
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .clients(ClientCheck::by_authorities(authority.trust()))
    ///     .bind()
    ///     .await?;
    /// let other = Authority::new("others")?.sign_client("kube-apiserver", "system", Duration::from_secs(60))?.identity()?;
    /// assert_eq!(ask_as(server, Some(&other), get("/")).await?.status(), 403);
    /// # Ok(())
    /// # }
    /// ```
    pub fn by_authorities(authorities: TrustBundle) -> Self {
        Self::by(Authorities::Fixed(authorities))
    }

    fn by(authorities: Authorities) -> Self {
        Self {
            authorities,
            rules: Rules {
                names: BTreeSet::new(),
                open_paths: BTreeSet::new(),
                mode: Mode::Refuse,
            },
        }
    }

    /// Accepts only clients whose certificate has one of these common names. By default every name is accepted.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::{ClientCheck, Server};
    /// use tower::service_fn;
    #[doc = include_str!("../client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let authority = Authority::new("clients")?;
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .clients(ClientCheck::by_authorities(authority.trust()).named(["kube-apiserver"]))
    ///     .bind()
    ///     .await?;
    /// let kubelet = authority.sign_client("kubelet", "system:nodes", Duration::from_secs(60))?.identity()?;
    /// assert_eq!(ask_as(server, Some(&kubelet), get("/")).await?.status(), 403);
    /// # Ok(())
    /// # }
    /// ```
    pub fn named(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.rules.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Accepts every client at these paths. The API server shows its certificate to admission webhooks only: conversions come
    /// without one.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::{ClientCheck, Server};
    /// use tower::service_fn;
    #[doc = include_str!("../client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let check = ClientCheck::by_authorities(Authority::new("clients")?.trust()).except_at(["/convert/widgets.example.com"]);
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .clients(check)
    ///     .bind()
    ///     .await?;
    /// assert_eq!(ask(server, post("/convert/widgets.example.com", "{}")).await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub fn except_at(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.rules
            .open_paths
            .extend(paths.into_iter().map(Into::into));
        self
    }

    /// Rejects no client: the server logs and counts the clients that it would reject.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, SelfSigned};
    /// use kubewright_server::{ClientCheck, Server};
    /// use tower::service_fn;
    #[doc = include_str!("../client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let check = ClientCheck::by_authorities(Authority::new("clients")?.trust()).observing();
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .clients(check)
    ///     .bind()
    ///     .await?;
    /// let counters = server.counters();
    /// assert_eq!(ask(server, get("/")).await?.status(), 200);
    /// assert_eq!(counters.read().clients_observed, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn observing(mut self) -> Self {
        self.rules.mode = Mode::Observe;
        self
    }

    /// Waits for the first authorities.
    pub(super) async fn first(&mut self) -> Result<ClientTrust, CertificateError> {
        match &mut self.authorities {
            Authorities::Fixed(authorities) => self.rules.trusting(authorities),
            Authorities::File(file) => self.rules.trusting(&file.next().await),
        }
    }

    /// The file that is to be followed, if there is one.
    pub(crate) fn into_file(self) -> Option<TrustFile> {
        match self.authorities {
            Authorities::Fixed(_) => None,
            Authorities::File(file) => Some(file),
        }
    }
}

impl Rules {
    pub(super) fn trusting(
        &self,
        authorities: &TrustBundle,
    ) -> Result<ClientTrust, CertificateError> {
        ClientTrust::new(authorities, &self.names)
    }
}
