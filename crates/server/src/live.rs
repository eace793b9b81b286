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
#[derive(Clone)]
pub struct LiveIdentity {
    shared: Arc<Shared>,
}

struct Shared {
    current: ArcSwap<Identity>,
    generation: watch::Sender<u64>,
}

impl LiveIdentity {
    pub(crate) fn of(identity: Identity) -> Self {
        let (generation, _) = watch::channel(0);
        Self {
            shared: Arc::new(Shared {
                current: ArcSwap::from_pointee(identity),
                generation,
            }),
        }
    }

    /// The identity that the next handshake will prove.
    pub fn current(&self) -> Arc<Identity> {
        self.shared.current.load_full()
    }

    /// What clients must trust now.
    pub fn trust(&self) -> TrustBundle {
        self.shared.current.load().trust().clone()
    }

    /// Calls back with the identity that is served now, and again with each later one, until the callback says to stop.
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

    pub(crate) fn replace(&self, identity: Identity) {
        self.shared.current.store(Arc::new(identity));
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
