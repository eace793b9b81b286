//! An authority that the replicas of a program share: it lives in a Secret that they make and keep themselves.

mod account;
mod clock;
mod events;
mod fingerprint;
mod publication;
mod record;
mod replica;
mod report;
mod root;
mod rotation;
mod secret;
mod signing;
mod source;
mod state;
mod steps;
mod timing;
mod trust;
mod work;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

pub use events::{RotationEvent, Status};
pub use fingerprint::Fingerprint;
pub use publication::Publication;
pub use rotation::Rotation;
pub use source::SharedSource;
pub use state::Phase;
pub use timing::Timing;
pub use trust::Trust;

use clock::Clock;
use root::Owner;
use secret::Place;

use crate::keys::Keys;

/// An authority in a Secret that the program makes and keeps itself, and that all its replicas share.
///
/// Each replica signs its own certificate in memory, so that no key of a server ever leaves its process. The authority is
/// rotated before it expires, in steps that any replica can carry on: the next authority is published to every object that
/// leads to the program before anything that it signs is served, and the last one stays trusted until nothing that it signed
/// is valid. The guide's chapter on certificates has the whole of it.
///
/// Keys are ECDSA P-256, which every API server of the last ten years takes. With the feature `rsa` there is a method `rsa`, for
/// clients that take no others.
///
/// # Example: two replicas, and what their clients must trust
///
/// ```
/// use kube::Client;
/// use kubewright_apiserver::ApiServer;
/// use kubewright_certificates::{CertificateSource, SharedAuthority};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::start();
/// let client = Client::new(server.service(), "default");
/// let authority = SharedAuthority::in_secret("policy-certs").for_service("policy");
///
/// let (mut first, rotation_of_first) = authority.connect(client.clone(), "default");
/// let (mut second, rotation_of_second) = authority.connect(client, "default");
/// let mut trust = rotation_of_first.trust();
/// let identities = async {
///     // `()`: there are no objects to publish to.
///     (first.next().await, second.next().await)
/// };
/// let (first, second) = tokio::select! {
///     identities = identities => identities,
///     () = rotation_of_first.run(()) => unreachable!("it runs for ever"),
///     () = rotation_of_second.run(()) => unreachable!("it runs for ever"),
/// };
/// let (first, second) = (first?, second?);
/// assert_ne!(first.chain(), second.chain());
/// assert_eq!(first.trust(), second.trust());
/// assert_eq!(trust.borrow_and_update().as_ref().unwrap().trusted(), first.trust());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct SharedAuthority {
    secret: String,
    service: Option<String>,
    domain: String,
    names: Vec<String>,
    timing: Timing,
    keys: Keys,
    is_made_beforehand: bool,
}

impl SharedAuthority {
    /// An authority in the Secret of this name, in the program's own namespace.
    pub fn in_secret(name: impl Into<String>) -> Self {
        Self {
            secret: name.into(),
            service: None,
            domain: "cluster.local".to_owned(),
            names: Vec::new(),
            timing: Timing::new(),
            keys: Keys::default(),
            is_made_beforehand: false,
        }
    }

    /// Does without the permission to create Secrets, which RBAC cannot narrow to one name: the installer creates the Secret
    /// beforehand, empty, with the type `kubewright.dev/authority` and the label `app.kubernetes.io/managed-by: kubewright`.
    ///
    /// While the Secret is missing the program says so and waits; a replica that serves already goes on from memory.
    pub fn expect_secret(mut self) -> Self {
        self.is_made_beforehand = true;
        self
    }

    /// Whether the Secret is made [beforehand](Self::expect_secret).
    pub fn expects_secret(&self) -> bool {
        self.is_made_beforehand
    }

    /// For servers that are reached through this Service, in the program's own namespace: as `policy`, `policy.blue`,
    /// `policy.blue.svc` and `policy.blue.svc.cluster.local`.
    pub fn for_service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Also for servers that are reached under these DNS names and IP addresses.
    pub fn also_for(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the DNS domain of the cluster; `cluster.local` unless set.
    pub fn cluster_domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = domain.into();
        self
    }

    /// Sets how long certificates live and a rotation waits.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Generates RSA keys of 2048 bits, for clients that support no others. Requires the feature `rsa`.
    ///
    /// An existing authority is kept until it is rotated; the certificates that it signs have RSA keys from now on.
    #[cfg(feature = "rsa")]
    pub fn rsa(mut self) -> Self {
        self.keys = Keys::Rsa2048;
        self
    }

    /// The name of the Secret.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The Service that leads to the program, if one does.
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// The names that a program in a namespace has a certificate for. The first one is what the API server verifies.
    pub fn names(&self, namespace: &str) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(service) = &self.service {
            names.extend([
                format!("{service}.{namespace}.svc"),
                format!("{service}.{namespace}.svc.{}", self.domain),
                format!("{service}.{namespace}"),
                service.clone(),
            ]);
        }
        names.extend(self.names.iter().cloned());
        names
    }

    /// Connects to a cluster: the source is for the server, and yields while the rotation [runs](Rotation::run).
    pub fn connect(&self, client: Client, namespace: &str) -> (SharedSource, Rotation) {
        self.connect_by(Clock::system(), client, namespace)
    }

    fn connect_by(
        &self,
        clock: Clock,
        client: Client,
        namespace: &str,
    ) -> (SharedSource, Rotation) {
        let identities = watch::Sender::new(None);
        let source = SharedSource::new(identities.subscribe(), self.names(namespace));
        let rotation = Rotation {
            owner: Owner::new(namespace, &self.secret),
            place: Place {
                client,
                namespace: namespace.to_owned(),
                name: self.secret.clone(),
            },
            names: self.names(namespace),
            timing: self.timing,
            keys: self.keys,
            is_made_beforehand: self.is_made_beforehand,
            clock,
            identities,
            trust: watch::Sender::new(None),
            status: watch::Sender::new(Status::default()),
            on_event: Arc::new(|_| ()),
        };
        (source, rotation)
    }
}
