//! What a rotation of authorities asks: whether trust has arrived.

use std::error::Error;

use kube::Client;
use kubewright_certificates::{Publication, TrustBundle};

use super::request;
use super::status::TrustStatus;

/// Looks at the objects themselves, not at what is known of them.
pub(crate) struct Objects {
    pub(crate) client: Client,
    pub(crate) status: TrustStatus,
}

impl Publication for Objects {
    /// Whether every object that leads here carries all of these authorities, and none has lost any since this was last
    /// asked: API servers may go by an old bundle for a while.
    async fn is_published(
        &self,
        trust: &TrustBundle,
    ) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let have_lost = self.status.take_losses();
        for target in self.status.targets() {
            let Some(object) = request::get(&self.client, target).await? else {
                continue;
            };
            let bundles = target.bundles(&object);
            if !bundles.iter().all(|bundle| bundle.includes(trust)) {
                return Ok(false);
            }
        }
        Ok(!have_lost)
    }
}
