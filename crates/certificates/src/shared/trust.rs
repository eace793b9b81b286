//! What a Secret's authorities mean for the bundles of others.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use rustls_pki_types::CertificateDer;

use super::fingerprint::Fingerprint;
use super::root::{Owner, Root};
use super::state::{Phase, State};
use crate::TrustBundle;
use crate::identity::from_unix;

/// How long an expired authority stays in bundles: the clocks of clients may be wrong.
const EXPIRED_FOR: Duration = Duration::from_hours(1);

/// The CAs that clients have to trust now, and those that they must not trust any more.
///
/// ```
/// use kube::Client;
/// use kubewright_apiserver::ApiServer;
/// use kubewright_certificates::{Phase, SharedAuthority};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(ApiServer::start().service(), "default");
/// let (_source, rotation) = SharedAuthority::in_secret("policy-certs").for_service("policy").connect(client, "default");
/// let mut trust = rotation.trust();
/// tokio::spawn(rotation.run(()));
/// let trust = trust.wait_for(Option::is_some).await?.clone().unwrap();
/// assert_eq!(trust.phase(), Phase::Stable);
/// assert_eq!(trust.trusted().certificates().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trust {
    trusted: TrustBundle,
    retired: BTreeSet<Fingerprint>,
    phase: Phase,
    generation: u64,
    owner: Owner,
}

impl Trust {
    pub(crate) fn of(state: &State<Root>, owner: &Owner) -> Self {
        let trusted = state.trusted().map(|root| root.certificate().clone());
        Self {
            trusted: TrustBundle::of(trusted.collect()),
            retired: state.retired.iter().copied().collect(),
            phase: state.phase(),
            generation: state.generation,
            owner: owner.clone(),
        }
    }

    /// Returns the CAs that every bundle has to contain, the current one first.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = trust_of_a_rotation().await;
    /// let ca_bundle = trust.trusted().to_ca_bundle(); // for the objects that refer to the program
    /// # assert!(ca_bundle.starts_with("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"));
    /// assert!(trust.is_ours(&trust.trusted().certificates()[0]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn trusted(&self) -> &TrustBundle {
        &self.trusted
    }

    /// Returns the fingerprints of the CAs that every bundle has to drop for good.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = trust_of_a_rotation().await;
    /// assert!(trust.retired().is_empty(), "no rotation has ended yet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn retired(&self) -> &BTreeSet<Fingerprint> {
        &self.retired
    }

    /// Returns the phase of the rotation.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    /// use kubewright_certificates::Phase;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// assert_eq!(trust_of_a_rotation().await.phase(), Phase::Stable);
    /// # Ok(())
    /// # }
    /// ```
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the number of the current authority, counted from one.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// assert_eq!(trust_of_a_rotation().await.generation(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether a certificate of a bundle belongs to this program, by its subject.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    /// use kubewright_certificates::Authority;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = trust_of_a_rotation().await;
    /// let theirs = Authority::new("theirs")?.trust();
    /// assert!(trust.is_ours(&trust.trusted().certificates()[0]));
    /// assert!(!trust.is_ours(&theirs.certificates()[0]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_ours(&self, certificate: &CertificateDer<'_>) -> bool {
        x509_parser::parse_x509_certificate(certificate)
            .is_ok_and(|(_, certificate)| self.owner.owns(&certificate))
    }

    /// Returns whether a bundle has to drop a certificate: it was retired, or belongs to this program and has expired.
    ///
    /// Nothing else is ever removed. A certificate that is only unknown stays: a replica with a newer state may have published
    /// it, for a replica that already serves a certificate of it.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    /// use std::time::{Duration, SystemTime};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = trust_of_a_rotation().await;
    /// let ours = &trust.trusted().certificates()[0];
    /// let now = SystemTime::now();
    /// assert!(!trust.must_leave(ours, now));
    /// assert!(trust.must_leave(ours, now + Duration::from_hours(2 * 365 * 24)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn must_leave(&self, certificate: &CertificateDer<'_>, now: SystemTime) -> bool {
        if self.retired.contains(&Fingerprint::of(certificate)) {
            return true;
        }
        x509_parser::parse_x509_certificate(certificate).is_ok_and(|(_, certificate)| {
            let end = from_unix(certificate.validity().not_after.timestamp());
            self.owner.owns(&certificate) && end + EXPIRED_FOR <= now
        })
    }

    /// What a bundle is to become: its own certificates in their order, those that [must leave](Self::must_leave) taken out,
    /// and what is trusted and missing at its end. An equal bundle comes back when there is nothing to change.
    ///
    /// ```
    #[doc = include_str!("trust.md")]
    /// use kubewright_certificates::Authority;
    /// use std::time::SystemTime;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = trust_of_a_rotation().await;
    /// let theirs = Authority::new("theirs")?.trust();
    /// let merged = trust.merged_into(&theirs, SystemTime::now());
    /// assert_eq!(merged, theirs.and(trust.trusted()));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn merged_into(&self, bundle: &TrustBundle, now: SystemTime) -> TrustBundle {
        let merged = merged(
            bundle.certificates(),
            self.trusted.certificates(),
            |certificate| self.must_leave(certificate, now),
        );
        TrustBundle::of(merged)
    }
}

/// The one rule by which bundles change; the model test goes by it, too.
pub(crate) fn merged<C: Clone + PartialEq>(
    present: &[C],
    trusted: &[C],
    must_leave: impl Fn(&C) -> bool,
) -> Vec<C> {
    let stays = |certificate: &&C| trusted.contains(certificate) || !must_leave(certificate);
    let mut merged: Vec<C> = present.iter().filter(stays).cloned().collect();
    for certificate in trusted {
        if !merged.contains(certificate) {
            merged.push(certificate.clone());
        }
    }
    merged
}
