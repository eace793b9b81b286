//! The client at the other end of one connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use kubewright_certificates::{ClientError, ClientTrust};
use rustls::pki_types::CertificateDer;
use tokio::time::{Duration, Instant};

/// For how long a judgement holds, at most: certificates expire while connections stay open.
const HOLDS: Duration = Duration::from_mins(1);

/// What a client has shown in its handshake, and how that was judged last.
#[derive(Debug)]
pub(crate) struct Caller {
    chain: Vec<CertificateDer<'static>>,
    judged: Mutex<Option<Judged>>,
}

#[derive(Debug)]
struct Judged {
    by: Arc<ClientTrust>,
    at: Instant,
    verdict: Result<(), ClientError>,
}

impl Caller {
    pub(crate) fn showing(chain: &[CertificateDer<'_>]) -> Self {
        let chain = chain.iter().map(|each| each.clone().into_owned()).collect();
        Self {
            chain,
            judged: Mutex::new(None),
        }
    }

    /// The client's verdict. Signatures are checked for the first call of a connection, and again when the trust has changed
    /// or the verdict is old.
    pub(super) fn verify(
        &self,
        trust: &Arc<ClientTrust>,
        time: SystemTime,
    ) -> Result<(), ClientError> {
        // A verdict is written in one piece: it is whole even if a thread has panicked beside it.
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match &*judged {
            Some(last) if Arc::ptr_eq(&last.by, trust) && now < last.at + HOLDS => {
                last.verdict.clone()
            }
            _ => {
                let verdict = trust.verify(&self.chain, time);
                if let Ok(name) = &verdict {
                    tracing::debug!(client = ?name, "a client is believed");
                }
                let verdict = verdict.map(drop);
                *judged = Some(Judged {
                    by: Arc::clone(trust),
                    at: now,
                    verdict: verdict.clone(),
                });
                verdict
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_certificates::Authority;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn trust(authority: &Authority) -> Arc<ClientTrust> {
        Arc::new(ClientTrust::new(&authority.trust(), ["api"]).unwrap())
    }

    fn caller(authority: &Authority) -> Caller {
        let issued = authority.sign_client("api", "system", HOUR).unwrap();
        Caller::showing(issued.identity().unwrap().chain())
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_that_expires_on_an_open_connection_is_found_out_within_a_minute() {
        let authority = Authority::new("test").unwrap();
        let (trust, caller) = (trust(&authority), caller(&authority));
        let now = SystemTime::now();
        assert_eq!(caller.verify(&trust, now), Ok(()));

        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(caller.verify(&trust, now + 2 * HOUR), Ok(()), "not yet");
        tokio::time::advance(Duration::from_secs(1)).await;
        let refused = caller.verify(&trust, now + 2 * HOUR).unwrap_err();
        assert!(matches!(refused, ClientError::NotVerified { .. }));
    }

    #[tokio::test(start_paused = true)]
    async fn another_trust_is_asked_at_once() {
        let (mine, other) = (Authority::new("a").unwrap(), Authority::new("a").unwrap());
        let caller = caller(&mine);
        let now = SystemTime::now();
        assert_eq!(caller.verify(&trust(&mine), now), Ok(()));
        assert!(caller.verify(&trust(&other), now).is_err());
        assert_eq!(caller.verify(&trust(&mine), now), Ok(()));
    }
}
