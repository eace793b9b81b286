//! The identity that is served now.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kubewright_certificates::{Identity, TrustBundle};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

/// The identity that a server serves now. Clones show the same one.
///
/// A handshake takes it with one atomic load: nothing is parsed or locked for it.
///
/// ```
/// use std::time::SystemTime;
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::Server;
/// use tower::service_fn;
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
/// let identity = server.identity();
/// // For a metric: the time until the certificate expires.
/// let left = identity.current().expires().duration_since(SystemTime::now())?;
/// assert!(left.as_secs() > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LiveIdentity {
    shared: Arc<Shared>,
}

struct Shared {
    current: ArcSwap<Identity>,
    generation: watch::Sender<u64>,
}

impl LiveIdentity {
    /// Starts with an identity, for a server whose certificates its owner [replaces](Self::replace).
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_certificates::Authority;
    /// use kubewright_server::LiveIdentity;
    ///
    /// let authority = Authority::new("metrics")?;
    /// let identity = || authority.sign_server(["localhost"], Duration::from_secs(60))?.identity();
    /// let live = LiveIdentity::of(identity()?);
    /// let first = live.current();
    /// live.replace(identity()?);
    /// assert_ne!(live.current().chain(), first.chain());
    /// # Ok::<(), kubewright_certificates::CertificateError>(())
    /// ```
    #[must_use]
    pub fn of(identity: Identity) -> Self {
        let (generation, _) = watch::channel(0);
        Self {
            shared: Arc::new(Shared {
                current: ArcSwap::from_pointee(identity),
                generation,
            }),
        }
    }

    /// Returns the identity of the next handshake.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
    /// assert!(server.identity().current().is_valid_at(SystemTime::now()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn current(&self) -> Arc<Identity> {
        self.shared.current.load_full()
    }

    /// Returns the CA certificates that clients have to trust now.
    pub fn trust(&self) -> TrustBundle {
        self.shared.current.load().trust().clone()
    }

    /// Calls `each` with the identity that is served now and with each later one, until it returns `Break`.
    ///
    /// ```
    /// use std::{ops::ControlFlow, time::Duration};
    /// use kubewright_certificates::Authority;
    /// use kubewright_server::Server;
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// // A source of two identities: the second one replaces the first once the server runs.
    /// let authority = Authority::new("test")?;
    /// let identity = || authority.sign_server(["localhost"], Duration::from_secs(60))?.identity();
    /// let server = Server::new(service_fn(echo), vec![identity()?, identity()?].into_iter())
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .bind()
    ///     .await?;
    /// let live = server.identity();
    /// let mut seen = 0;
    /// let follow = live.follow(|_| {
    ///     seen += 1;
    ///     if seen < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    /// });
    /// tokio::select! { ended = server.run(std::future::pending()) => panic!("{ended:?}"), () = follow => {} }
    /// assert_eq!(seen, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the calls and does nothing else.
    pub async fn follow(&self, mut each: impl FnMut(Arc<Identity>) -> std::ops::ControlFlow<()>) {
        let mut generation = self.shared.generation.subscribe();
        loop {
            generation.mark_unchanged();
            if each(self.current()).is_break() || generation.changed().await.is_err() {
                return;
            }
        }
    }

    /// Serves another identity from the next handshake on.
    pub fn replace(&self, identity: impl Into<Arc<Identity>>) {
        self.shared.current.store(identity.into());
        self.shared
            .generation
            .send_modify(|generation| *generation += 1);
    }
}

impl ResolvesServerCert for LiveIdentity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shared.current.load().certified_key())
    }
}

impl fmt::Debug for LiveIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("LiveIdentity")
            .field(&self.shared.current.load())
            .finish()
    }
}
