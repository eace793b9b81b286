//! The one trait of this crate: a source is a sequence of identities.

use std::fmt;
use std::pin::Pin;

use crate::{CertificateError, Identity};

/// Source of the identities that a server serves.
///
/// Time is a sequence here: there is no lock, no readiness flag and no order of calls to get wrong. A test's source can
/// be a `Vec` of identities.
///
/// ```
/// use kubewright_certificates::{Authority, CertificateError, CertificateSource, Identity};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// /// Signs a new certificate each hour.
/// struct Hourly {
///     authority: Authority,
///     signed: tokio::time::Interval,
/// }
///
/// impl CertificateSource for Hourly {
///     async fn next(&mut self) -> Result<Identity, CertificateError> {
///         self.signed.tick().await; // The first tick is immediate.
///         self.authority.sign_server(["localhost"], Duration::from_hours(2))?.identity()
///     }
/// }
///
/// let signed = tokio::time::interval(Duration::from_hours(1));
/// let mut source = Hourly { authority: Authority::new("hourly")?, signed };
/// assert_eq!(source.next().await?.trust(), &source.authority.trust());
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of certificates",
    note = "use `Files::in_dir(..)`, `SelfSigned::for_service(..)`, or implement `CertificateSource`"
)]
pub trait CertificateSource: Send + 'static {
    /// Waits for the next identity to serve. The first call yields the initial one.
    ///
    /// A source that has nothing more to give waits for ever. After an error the caller keeps what it has and asks
    /// again later.
    ///
    /// # Errors
    ///
    /// When the source knows that waiting would not help.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing; the next call yields the same identity.
    fn next(&mut self) -> impl Future<Output = Result<Identity, CertificateError>> + Send;
}

/// A source of any type: what serves its identities needs no type parameter, and a program its code only once.
///
/// ```
/// use kubewright_certificates::{AnySource, CertificateSource, Files, SelfSigned};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let directory: Option<&str> = None; // of a mounted Secret
/// let mut source = match directory {
///     Some(directory) => AnySource::new(Files::in_dir(directory)),
///     None => AnySource::new(SelfSigned::for_names(["localhost"])),
/// };
/// assert!(source.next().await.is_ok());
/// # Ok(())
/// # }
/// ```
pub struct AnySource(Box<dyn Next>);

/// [`CertificateSource`], with its future on the heap.
trait Next: Send {
    fn next_boxed(&mut self) -> Boxed<'_>;
}

type Boxed<'a> = Pin<Box<dyn Future<Output = Result<Identity, CertificateError>> + Send + 'a>>;

impl<C: CertificateSource> Next for C {
    fn next_boxed(&mut self) -> Boxed<'_> {
        Box::pin(self.next())
    }
}

impl AnySource {
    /// Takes a source of some type.
    pub fn new(source: impl CertificateSource) -> Self {
        Self(Box::new(source))
    }
}

impl CertificateSource for AnySource {
    fn next(&mut self) -> impl Future<Output = Result<Identity, CertificateError>> + Send {
        self.0.next_boxed()
    }
}

impl fmt::Debug for AnySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AnySource").finish_non_exhaustive()
    }
}

impl CertificateSource for std::vec::IntoIter<Identity> {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        match Iterator::next(self) {
            Some(identity) => Ok(identity),
            None => std::future::pending().await,
        }
    }
}
