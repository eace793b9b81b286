//! The one trait of this crate: a source is a sequence of identities.

use crate::{CertificateError, Identity};

/// Where identities come from.
///
/// Time is a sequence here: there is no lock, no readiness flag and no order of calls to get wrong. A test's source can
/// be a `Vec` of identities.
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

impl CertificateSource for std::vec::IntoIter<Identity> {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        match Iterator::next(self) {
            Some(identity) => Ok(identity),
            None => std::future::pending().await,
        }
    }
}
