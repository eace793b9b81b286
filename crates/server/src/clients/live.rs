//! The check as it stands now: its authorities change while the server runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use kubewright_certificates::{CertificateError, ClientError, ClientTrust, TrustFile};
use tokio::time::{Duration, Instant};

use super::check::{Mode, Rules};
use super::{Caller, ClientCheck};
use crate::counters::{Counter, Counters};

/// How often the log tells of clients that are not believed, at most: anybody who reaches the port can be one.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The check that all connections of a server share.
pub(crate) struct LiveClients {
    rules: Rules,
    trust: ArcSwap<ClientTrust>,
    told: Mutex<Option<Instant>>,
}

impl LiveClients {
    /// Waits for the first authorities.
    pub(crate) async fn start(check: &mut ClientCheck) -> Result<Arc<Self>, CertificateError> {
        let trust = check.first().await?;
        Ok(Arc::new(Self {
            rules: check.rules.clone(),
            trust: ArcSwap::from_pointee(trust),
            told: Mutex::new(None),
        }))
    }

    /// Whether a client may call this path now.
    ///
    /// # Errors
    ///
    /// When its call is to be refused.
    pub(crate) fn admit(
        &self,
        caller: &Caller,
        path: &str,
        counters: &Counters,
    ) -> Result<(), ClientError> {
        if self.rules.open_paths.contains(path) {
            return Ok(());
        }
        let Err(error) = caller.verify(&self.trust.load_full(), SystemTime::now()) else {
            return Ok(());
        };
        match self.rules.mode {
            Mode::Refuse => {
                counters.count(Counter::clients_refused);
                if self.may_tell() {
                    tracing::warn!(%error, "refused a call");
                }
                Err(error)
            }
            Mode::Observe => {
                counters.count(Counter::clients_observed);
                if self.may_tell() {
                    tracing::warn!(%error, "answered a call that would be refused if clients were not only observed");
                }
                Ok(())
            }
        }
    }

    fn may_tell(&self) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let may = told.is_none_or(|told| now >= told + BETWEEN_LINES);
        if may {
            *told = Some(now);
        }
        may
    }

    /// Believes what the file says, whenever it has changed, and keeps the last authorities that could be used.
    pub(crate) async fn follow(self: Arc<Self>, mut file: TrustFile, counters: Counters) {
        loop {
            match self.rules.trusting(&file.next().await) {
                Ok(trust) => {
                    self.trust.store(Arc::new(trust));
                    counters.count(Counter::client_authorities_replaced);
                    tracing::info!("believing clients of new authorities");
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(%error, cause, "the new authorities of clients cannot be used; the old ones stay in use");
                }
            }
        }
    }
}

impl fmt::Debug for LiveClients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LiveClients")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
