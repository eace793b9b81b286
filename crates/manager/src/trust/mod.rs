//! Trust in the program: the `caBundle` of every object that leads API servers here contains the trusted CAs, and keeps them.

mod events;
mod guard;
mod others;
mod publication;
mod publish;
mod publisher;
mod request;
mod status;
mod target;
mod targets;
mod wanted;

use std::ops::ControlFlow;
use std::sync::Arc;

use kube::Client;
use kubewright_certificates::Trust;
use kubewright_server::{LiveIdentity, Readiness};
use tokio::sync::watch;

pub(crate) use events::EventRecorder;
pub(crate) use publication::Objects;
pub(crate) use status::TrustStatus;
use target::Target;
pub(crate) use targets::targets;
pub(crate) use wanted::Wanted;

use crate::parts::Parts;
pub(crate) use publish::Publish;
use publisher::Publisher;

/// The publishers of a program at work.
pub(crate) struct Publishing {
    pub(crate) status: TrustStatus,
    wanted: watch::Sender<Option<Wanted>>,
}

impl Publishing {
    /// Starts a publisher for each object. It writes nothing until the trusted CAs are known.
    pub(crate) fn start(
        client: &Client,
        program: &Arc<str>,
        targets: Vec<Target>,
        recorder: &EventRecorder,
        parts: &mut Parts,
    ) -> Self {
        let wanted = watch::Sender::new(None);
        let status = TrustStatus::of(targets);
        for target in status.targets() {
            let publisher = Publisher {
                client: client.clone(),
                program: Arc::clone(program),
                target: target.clone(),
                status: status.clone(),
                wanted: wanted.subscribe(),
                recorder: recorder.clone(),
            };
            parts.spawn("the publication of trust", publisher.run());
        }
        Self { status, wanted }
    }

    /// Publishes the CA of a server's certificate to every object, now and after each renewal.
    pub(crate) fn follow(self, publish: Publish, identity: LiveIdentity, parts: &mut Parts) {
        self.status.serves(identity.clone());
        parts.spawn("the publication of trust", async move {
            let follow = identity.follow(|identity| {
                let wanted = match &publish {
                    Publish::Trust => Wanted::trust(identity.trust().clone()),
                    Publish::InjectedFrom(certificate) => {
                        Wanted::InjectedFrom(Arc::clone(certificate))
                    }
                };
                self.wanted.send_replace(Some(wanted));
                ControlFlow::Continue(())
            });
            follow.await;
        });
    }
}

impl Publishing {
    /// Publishes the trusted CAs of a rotation to every object, and returns the objects for the rotation to check.
    pub(crate) fn follow_rotation(
        self,
        client: Client,
        mut trust: watch::Receiver<Option<Trust>>,
        parts: &mut Parts,
    ) -> Objects {
        let Self { status, wanted } = self;
        parts.spawn("the publication of trust", async move {
            loop {
                let now = trust.borrow_and_update().clone();
                wanted.send_replace(now.map(Wanted::of_rotation));
                if trust.changed().await.is_err() {
                    // The last trusted CAs stay published.
                    std::future::pending::<()>().await;
                }
            }
        });
        Objects { client, status }
    }
}

/// Adds a readiness check that fails while a client could not verify the certificate of this replica.
pub(crate) fn check(status: &TrustStatus, readiness: &Readiness) {
    let status = status.clone();
    readiness.check("trust", move || status.is_verified());
}
