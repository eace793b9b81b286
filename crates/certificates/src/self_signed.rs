//! Certificates made in memory, for one process.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::keys::Keys;
use crate::{Authority, CertificateError, CertificateSource, Identity, TrustBundle, names};

const DAY: Duration = Duration::from_hours(24);

/// Creates its own authority and signs certificates with it, all in memory.
///
/// It is for one process, tests and first steps: another replica, or the same program after a restart, has another
/// authority. The certificate is renewed at two thirds of its life by the same authority; trust changes only when the
/// authority itself nears its end, and then holds both.
///
/// ```
/// use kubewright_certificates::{CertificateSource, SelfSigned};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut one = SelfSigned::for_service("policy", "policy-system");
/// let mut other = SelfSigned::for_service("policy", "policy-system");
/// // Two processes do not share an authority.
/// assert_ne!(one.next().await?.trust(), other.next().await?.trust());
/// # Ok(())
/// # }
/// ```
pub struct SelfSigned {
    names: Vec<String>,
    lifetime: Duration,
    authority_lifetime: Duration,
    authority: Option<Authority>,
    retired: TrustBundle,
    renew_at: Option<SystemTime>,
    clock: Clock,
}

type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

impl SelfSigned {
    /// Signs certificates for a server with these DNS names and IP addresses.
    ///
    /// ```
    /// use kubewright_certificates::{CertificateError, CertificateSource, SelfSigned};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let identity = SelfSigned::for_names(["localhost", "127.0.0.1"]).next().await?;
    /// assert_eq!(identity.trust().certificates().len(), 1);
    ///
    /// let invalid = SelfSigned::for_names(["not a name"]).next().await;
    /// assert!(matches!(invalid, Err(CertificateError::InvalidName { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub fn for_names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            names: names.into_iter().map(Into::into).collect(),
            lifetime: 90 * DAY,
            authority_lifetime: 3650 * DAY,
            authority: None,
            retired: TrustBundle::default(),
            renew_at: None,
            clock: Arc::new(SystemTime::now),
        }
    }

    /// Signs certificates for a Service of the cluster: `policy.blue.svc`, `policy.blue.svc.cluster.local` and `policy.blue`.
    ///
    /// ```
    /// use kubewright_certificates::{CertificateSource, SelfSigned};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let identity = SelfSigned::for_service("policy", "blue").next().await?;
    /// let (_, certificate) = x509_parser::parse_x509_certificate(&identity.chain()[0])?;
    /// assert_eq!(certificate.subject().to_string(), "CN=policy.blue.svc");
    /// # Ok(())
    /// # }
    /// ```
    pub fn for_service(name: &str, namespace: &str) -> Self {
        Self::for_names(names::of_service(name, namespace))
    }

    /// Sets the lifetime of a certificate. The default is 90 days; it is renewed at two thirds of its lifetime.
    ///
    /// ```
    /// use kubewright_certificates::{CertificateSource, SelfSigned};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut source = SelfSigned::for_names(["localhost"]).lifetime(Duration::from_secs(3));
    /// let first = source.next().await?;
    /// let renewed = source.next().await?; // two seconds later
    /// assert!(renewed.expires() > first.expires());
    /// assert_eq!(renewed.trust(), first.trust());
    /// # Ok(())
    /// # }
    /// ```
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the lifetime of the authority. The default is ten years.
    ///
    /// ```
    /// use kubewright_certificates::{CertificateSource, SelfSigned};
    /// use std::time::{Duration, SystemTime};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let day = Duration::from_hours(24);
    /// let identity = SelfSigned::for_names(["localhost"]).lifetime(90 * day).authority_lifetime(30 * day).next().await?;
    /// // No certificate outlives its authority.
    /// assert!(identity.expires() <= SystemTime::now() + 30 * day);
    /// # Ok(())
    /// # }
    /// ```
    pub fn authority_lifetime(mut self, lifetime: Duration) -> Self {
        self.authority_lifetime = lifetime;
        self
    }

    fn sign(&mut self) -> Result<Identity, CertificateError> {
        let now = (self.clock)();
        let authority = match self.authority.take() {
            Some(authority) if authority.expires() >= now + self.lifetime => authority,
            last => {
                self.retired = last.map(|authority| authority.trust()).unwrap_or_default();
                let key = Keys::default().make()?;
                Authority::starting_at(now, None, "kubewright", self.authority_lifetime, key)?
            }
        };
        let authority = self.authority.insert(authority);
        let issued =
            authority.sign_server_at(now, &self.names, self.lifetime, Keys::default().make()?)?;
        let trust = authority.trust().and(&self.retired);
        let identity = issued.identity()?.trusting(trust);
        let life = identity.expires().duration_since(now).unwrap_or_default();
        self.renew_at = Some(now + life * 2 / 3);
        Ok(identity)
    }
}

impl CertificateSource for SelfSigned {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        if let Some(renew_at) = self.renew_at {
            wait_until(renew_at, &self.clock).await;
        }
        self.sign()
    }
}

impl fmt::Debug for SelfSigned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SelfSigned")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// Waits for a moment of the wall clock. A timer alone would sleep through a suspended machine or a clock that jumps.
async fn wait_until(moment: SystemTime, clock: &Clock) {
    const LONGEST_NAP: Duration = Duration::from_mins(1);
    while let Ok(left) = moment.duration_since(clock()) {
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(LONGEST_NAP)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wall clock that goes with tokio's virtual time.
    fn source() -> SelfSigned {
        let (wall, start) = (SystemTime::now(), tokio::time::Instant::now());
        let mut source = SelfSigned::for_names(["a.example"]).lifetime(DAY);
        source.clock = Arc::new(move || wall + (tokio::time::Instant::now() - start));
        source
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_comes_at_two_thirds_of_the_life_from_the_same_authority() {
        let mut source = source();
        let first = source.next().await.unwrap();
        let start = tokio::time::Instant::now();
        let second = source.next().await.unwrap();
        let waited = tokio::time::Instant::now() - start;
        assert!(
            waited.abs_diff(DAY * 2 / 3) < Duration::from_secs(5),
            "{waited:?}"
        );
        assert_ne!(first.chain(), second.chain());
        assert_eq!(first.trust(), second.trust());
        assert!(second.expires() > first.expires());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_loses_nothing() {
        let mut source = source();
        let first = source.next().await.unwrap();
        for _ in 0..10 {
            let wait = tokio::time::timeout(DAY / 20, source.next()).await;
            assert!(wait.is_err(), "too early");
        }
        let second = source.next().await.unwrap();
        assert_eq!(first.trust(), second.trust());
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_jumps_ahead_renews_within_a_minute() {
        let mut source = source();
        source.next().await.unwrap();
        let clock = Arc::clone(&source.clock);
        source.clock = Arc::new(move || clock() + 10 * DAY);
        let start = tokio::time::Instant::now();
        let renewed = source.next().await.unwrap();
        assert!(tokio::time::Instant::now() - start <= Duration::from_mins(1));
        assert!(renewed.is_valid_at((source.clock)()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_authority_comes_with_the_trust_of_the_old_one() {
        let mut source = source().authority_lifetime(DAY * 3 / 2);
        let first = source.next().await.unwrap();
        let second = source.next().await.unwrap();
        assert_eq!(second.trust().certificates().len(), 2);
        assert!(
            second
                .trust()
                .certificates()
                .contains(&first.trust().certificates()[0])
        );
    }
}
