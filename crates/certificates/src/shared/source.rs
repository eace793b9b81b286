//! The identities of a replica, as its rotation signs them.

use tokio::sync::watch;

use crate::{CertificateError, CertificateSource, Identity, names};

/// The source of what a [`Rotation`](crate::Rotation) signs. It yields only while that one runs.
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
        // Nobody could ever sign for a name that is none.
        names::parse(&self.names)?;
        while self.identities.changed().await.is_ok() {
            if let Some(identity) = self.identities.borrow_and_update().clone() {
                return Ok(identity);
            }
        }
        // The rotation was dropped: what was served last is served on.
        std::future::pending().await
    }
}
