//! The certificates that a replica signs for itself.

use std::time::Duration;

use super::events::RotationEvent;
use super::publication::Publication;
use super::replica::{Leaf, Serve};
use super::root::Root;
use super::state::{Ca, Moment, State};
use super::trust::Trust;
use super::work::{LONGEST_NAP, Work};
use crate::{CertificateError, Identity};

impl Work<'_> {
    /// Signs when it is time to; returns when to look again, or why it cannot be signed.
    pub(super) async fn serve(
        &mut self,
        at: &Moment,
        publication: &impl Publication,
    ) -> Result<Duration, CertificateError> {
        match self.replica.serve(at) {
            Serve::Keep => {}
            Serve::Sign => return self.sign(at).await,
            Serve::SignOnceProven => {
                let (Some(state), Some(root)) = (self.replica.state(), &self.root) else {
                    return self.sign(at).await;
                };
                let new = self
                    .is_published([&state.current].into_iter(), publication)
                    .await;
                let served = self.is_published([root].into_iter(), publication).await;
                let is_served_in_vain = matches!((&new, served), (Ok(true), Ok(false)));
                let now = self.rotation.clock.moment();
                if self.replica.proves(new == Ok(true), &now) || is_served_in_vain {
                    return self.sign(at).await;
                }
                return Ok(Duration::from_secs(1).min(self.rotation.timing.settle));
            }
        }
        Ok(self.replica.leaf().map_or(LONGEST_NAP, |leaf| {
            let renew = leaf.renew_at.duration_since(at.now);
            renew.unwrap_or(LONGEST_NAP)
        }))
    }

    async fn sign(&mut self, at: &Moment) -> Result<Duration, CertificateError> {
        let Some(state) = self.replica.state() else {
            return Ok(LONGEST_NAP);
        };
        let (identity, leaf) = self.signed(state, at).await?;
        let event = RotationEvent::Signed {
            generation: state.generation,
            expires: leaf.not_after,
        };
        let pause = leaf.renew_at.duration_since(at.now);
        self.root = Some(state.current.without_key());
        self.replica.serves(leaf);
        self.rotation.identities.send_replace(Some(identity));
        self.emit(&event);
        Ok(pause.unwrap_or_default())
    }

    async fn signed(
        &self,
        state: &State<Root>,
        at: &Moment,
    ) -> Result<(Identity, Leaf), CertificateError> {
        let authority = state.current.authority();
        let authority = authority.ok_or(CertificateError::NotAnAuthority)?;
        let lifetime = self.rotation.timing.leaf;
        let key = self.rotation.keys.make_aside().await?;
        let issued = authority.sign_server_at(at.now, &self.rotation.names, lifetime, key)?;
        let trust = Trust::of(state, &self.rotation.owner);
        let identity = issued.identity()?.trusting(trust.trusted().clone());
        let life = identity
            .expires()
            .duration_since(at.now)
            .unwrap_or_default();
        // Not all at the same moment, and none of them late.
        let part = 2.0 / 3.0 - fastrand::f64() / 15.0;
        let leaf = Leaf {
            authority: state.current.fingerprint(),
            not_before: identity.not_before(),
            not_after: identity.expires(),
            renew_at: at.now + life.mul_f64(part),
        };
        Ok((identity, leaf))
    }
}
