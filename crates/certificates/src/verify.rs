//! Verifying an identity with a trust bundle, as a client does.

use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::server::ParsedCertificate;
use rustls_pki_types::UnixTime;

use crate::{Identity, TrustBundle};

impl TrustBundle {
    /// Returns whether a client that trusts this bundle, and no other authority, verifies an identity at a time. Names are not
    /// checked: a server has many, and the client knows which one it calls.
    ///
    /// A client with an empty bundle uses its system roots. It is assumed to verify identities with an empty
    /// [`trust`](Identity::trust).
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use kubewright_certificates::Authority;
    ///
    /// let (ours, other) = (Authority::new("ours")?, Authority::new("other")?);
    /// let identity = ours.sign_server(["localhost"], Duration::from_secs(60))?.identity()?;
    /// let now = SystemTime::now();
    /// assert!(ours.trust().verifies(&identity, now));
    /// assert!(!other.trust().verifies(&identity, now));
    /// assert!(!ours.trust().verifies(&identity, now + Duration::from_secs(61)));
    /// # Ok::<(), kubewright_certificates::CertificateError>(())
    /// ```
    pub fn verifies(&self, identity: &Identity, now: SystemTime) -> bool {
        if self.is_empty() {
            return identity.trust().is_empty();
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.certificates().iter().cloned());
        let Some((leaf, intermediates)) = identity.chain().split_first() else {
            return false;
        };
        let Ok(leaf) = ParsedCertificate::try_from(leaf) else {
            return false;
        };
        let now = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = UnixTime::since_unix_epoch(now.unwrap_or_default());
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        verify_server_cert_signed_by_trust_anchor(&leaf, &roots, intermediates, now, algorithms.all)
            .is_ok()
    }
}
