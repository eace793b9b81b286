//! How long things last in a rotation.

use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);

const SHORTEST: Duration = Duration::from_secs(2);

/// How long certificates live and how long a rotation waits. The defaults fit a cluster; tests shorten them.
///
/// ```
/// use std::time::Duration;
/// use kubewright_certificates::Timing;
///
/// let timing = Timing::new().leaf(Duration::from_hours(24)).settle(Duration::from_secs(90));
/// # let _ = timing;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Timing {
    pub(crate) leaf: Duration,
    pub(crate) authority: Duration,
    pub(crate) settle: Duration,
    pub(crate) skew: Duration,
    pub(crate) spread: Duration,
}

const LONGEST_SPREAD: Duration = Duration::from_secs(30);

impl Timing {
    /// Returns the default durations.
    ///
    /// ```
    /// use kubewright_certificates::Timing;
    /// use std::time::Duration;
    ///
    /// let (day, minute) = (Duration::from_hours(24), Duration::from_mins(1));
    /// let spelled_out = Timing::new().leaf(7 * day).authority(365 * day).settle(minute).skew(5 * minute);
    /// assert_eq!(spelled_out, Timing::new());
    /// ```
    pub fn new() -> Self {
        Self {
            leaf: 7 * DAY,
            authority: 365 * DAY,
            settle: Duration::from_mins(1),
            skew: Duration::from_mins(5),
            spread: Duration::from_millis(250),
        }
    }

    /// Sets the lifetime of a replica's certificate. The default is 7 days, the minimum two seconds, as the dates of a certificate
    /// are whole seconds. The certificate is renewed at two thirds of its lifetime.
    ///
    /// ```
    /// use kubewright_certificates::{CertificateSource, SharedAuthority, Timing};
    /// use std::time::{Duration, SystemTime};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = kube::Client::new(kubewright_apiserver::ApiServer::start().service(), "default");
    /// let day = Duration::from_hours(24);
    /// let authority = SharedAuthority::in_secret("certs").for_service("policy").timing(Timing::new().leaf(day));
    /// let (mut source, rotation) = authority.connect(client, "default");
    /// tokio::spawn(rotation.run(()));
    /// assert!(source.next().await?.expires() <= SystemTime::now() + day);
    /// # Ok(())
    /// # }
    /// ```
    pub fn leaf(mut self, lifetime: Duration) -> Self {
        self.leaf = lifetime.max(SHORTEST);
        self
    }

    /// Sets the lifetime of an authority. The default is a year. The next authority is staged at two thirds of that.
    ///
    /// ```
    /// use kubewright_certificates::{SharedAuthority, Timing};
    /// use std::time::{Duration, SystemTime};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = kube::Client::new(kubewright_apiserver::ApiServer::start().service(), "default");
    /// let day = Duration::from_hours(24);
    /// let authority = SharedAuthority::in_secret("certs").for_service("policy").timing(Timing::new().authority(30 * day));
    /// let (_source, rotation) = authority.connect(client, "default");
    /// let mut status = rotation.status();
    /// tokio::spawn(rotation.run(()));
    /// let status = status.wait_for(|status| status.authority_expires.is_some()).await?;
    /// assert!(status.authority_expires.unwrap() <= SystemTime::now() + 30 * day);
    /// # Ok(())
    /// # }
    /// ```
    pub fn authority(mut self, lifetime: Duration) -> Self {
        self.authority = lifetime.max(SHORTEST);
        self
    }

    /// Sets how long an API server may take until it goes by a `caBundle` that was written; a minute unless set. Real ones
    /// have been seen to be half a minute late.
    pub fn settle(mut self, margin: Duration) -> Self {
        self.settle = margin;
        self
    }

    /// Sets by how much clocks may differ, and how long a write may be on its way; five minutes unless set. A replaced
    /// authority is trusted for so much longer than anything lives that it has signed.
    pub fn skew(mut self, margin: Duration) -> Self {
        self.skew = margin;
        self
    }

    /// Sets within what time replicas choose their moments, so that the first of them does what is due and the others see it
    /// done; a quarter of a second unless set.
    pub fn spread(mut self, spread: Duration) -> Self {
        self.spread = spread;
        self
    }

    /// How much longer an authority is trusted than anything is valid that it has signed. The dates of certificates are whole
    /// seconds, and the last one is part of their life.
    pub(crate) fn margin(&self) -> Duration {
        self.skew + Duration::from_secs(1)
    }

    /// The spread for replicas whose looks take so long. Between the look of the first of them and the news of its write, others
    /// may write as well: that has to be a small part of the spread.
    pub(crate) fn spread_for(&self, way: Duration) -> Duration {
        self.spread.max((way * 20).min(LONGEST_SPREAD))
    }

    /// A moment within a spread. It is rather late than early, so that of six hundred replicas few come close to the first, and
    /// the first comes soon.
    pub(crate) fn moment_within(spread: Duration) -> Duration {
        spread.mul_f64(fastrand::f64().cbrt())
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::new()
    }
}
