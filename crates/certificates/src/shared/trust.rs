//! What a Secret's authorities mean for the bundles of others.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use rustls_pki_types::CertificateDer;

use super::fingerprint::Fingerprint;
use super::root::{Owner, Root};
use super::state::{Phase, State};
use crate::TrustBundle;
use crate::identity::from_unix;

/// An expired authority stays in bundles for so long: nobody is sure what time it is.
const EXPIRED_FOR: Duration = Duration::from_hours(1);

/// What clients must trust now, and what they must trust no longer.
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

    /// The authorities that every bundle must hold, the current one first.
    pub fn trusted(&self) -> &TrustBundle {
        &self.trusted
    }

    /// The authorities that must leave every bundle, and never come back.
    pub fn retired(&self) -> &BTreeSet<Fingerprint> {
        &self.retired
    }

    /// How far a rotation is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The number of the current authority, from one.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a certificate of a bundle is one that this program has put there, or will: by its subject.
    pub fn is_ours(&self, certificate: &CertificateDer<'_>) -> bool {
        x509_parser::parse_x509_certificate(certificate)
            .is_ok_and(|(_, certificate)| self.owner.owns(&certificate))
    }

    /// Whether a certificate has to leave a bundle: it was retired, or is ours and has expired.
    ///
    /// That is all that ever leaves. A certificate that is only unknown stays: somebody may have published it that knows
    /// more, for a replica that serves it already.
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
