//! What a rotation asks of whoever writes the bundles.

use std::error::Error;

use crate::TrustBundle;

/// Who knows whether trust has arrived where it is gone by.
///
/// `()` is a publication of nothing: for a server whose clients get their trust on a way of their own, such as a ConfigMap that
/// is mounted. Give them a [settle margin](crate::Timing::settle) that is long enough.
pub trait Publication: Send + Sync + 'static {
    /// Whether every object that leads here carries all of these authorities, read live and not from a cache.
    ///
    /// # Errors
    ///
    /// When that cannot be found out now. It is asked again later.
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
