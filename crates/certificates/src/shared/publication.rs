//! The interface between a rotation and the publisher of its CA bundles.

use std::error::Error;

use crate::TrustBundle;

/// Reports whether the objects through which clients learn their trust contain the CAs of a rotation.
///
/// `()` publishes nothing: it is for a server whose clients get their CA bundle in another way, such as a mounted ConfigMap.
/// Give them a [settle margin](crate::Timing::settle) that is long enough.
///
/// ```
/// use kubewright_certificates::{Authority, Publication, TrustBundle};
/// use std::{error::Error, path::PathBuf};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// /// Clients read their trust from a file on a shared volume.
/// struct Volume(PathBuf);
///
/// impl Publication for Volume {
///     async fn is_published(&self, trust: &TrustBundle) -> Result<bool, Box<dyn Error + Send + Sync>> {
///         Ok(TrustBundle::found_in(std::fs::read(&self.0)?).includes(trust))
///     }
/// }
///
/// # let dir = tempfile::tempdir()?;
/// let volume = Volume(dir.path().join("ca.crt"));
/// let (old, new) = (Authority::new("old")?.trust(), Authority::new("new")?.trust());
/// std::fs::write(&volume.0, old.to_pem())?;
/// assert!(!volume.is_published(&new).await.unwrap());
/// std::fs::write(&volume.0, old.and(&new).to_pem())?;
/// assert!(volume.is_published(&new).await.unwrap());
/// # Ok(())
/// # }
/// ```
pub trait Publication: Send + Sync + 'static {
    /// Returns whether every object that refers to this server contains all of these authorities, read live and not from a
    /// cache.
    ///
    /// # Errors
    ///
    /// If the objects cannot be read now. The rotation asks again later.
    fn is_published(
        &self,
        trust: &TrustBundle,
    ) -> impl Future<Output = Result<bool, Box<dyn Error + Send + Sync>>> + Send;
}

impl Publication for () {
    async fn is_published(&self, _: &TrustBundle) -> Result<bool, Box<dyn Error + Send + Sync>> {
        Ok(true)
    }
}
