//! The rate limit of a controller: a token bucket.

use std::time::Duration;

use tokio::time::Instant;

/// Limit on how many reconciles of a controller begin per second or minute: a token bucket. Set by
/// [`Controller::rate_limit`](crate::Controller::rate_limit).
///
/// Every reconcile takes a token, whatever its cause: the first list, a change, a requeue or an error. Tokens come at an even
/// rate, and up to the [burst](Self::burst) are saved. In any span of time at most as many reconciles begin as tokens come in
/// it, plus one burst. A deleted object takes no token.
///
/// Objects wait for a token in the work queue: later changes of a waiting object cause no second reconcile, and objects with a
/// higher priority overtake.
///
/// The `RateLimiter` of a work queue in client-go differs: it delays only items that are added with `AddRateLimited`, after errors
/// and requeues. Its counterpart is [`Backoff`](crate::Backoff).
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, RateLimit, Scope};
/// use kubewright_testing::{TestCluster, yaml};
/// use tokio::time::Instant;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = TestCluster::start().await;
/// tokio::time::pause();
/// for number in 0..30 {
///     let map: ConfigMap = yaml(&format!("metadata: {{name: map-{number}, labels: {{mine: 'yes'}}}}"));
///     cluster.create(&map).await.expect_allowed();
/// }
/// let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
/// let reconcile = move |map: Arc<ConfigMap>, _: Context| {
///     drop(sender.send((map.metadata.name.clone(), Instant::now())));
///     async { Ok(Action::await_change()) }
/// };
/// let controller = Controller::new("maps", reconcile)
///     .within(Scope::all().labelled("mine"))
///     .rate_limit(RateLimit::per_second(10).burst(20));
/// tokio::spawn(controller.run(cluster.client(), std::future::pending()));
///
/// let (_, first) = begun.recv().await.ok_or("no reconcile")?;
/// let mut last = first;
/// for _ in 1..30 {
///     (_, last) = begun.recv().await.ok_or("no reconcile")?;
/// }
/// // Twenty begin at once, and the other ten one after the other.
/// assert!(last - first >= Duration::from_secs(1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct RateLimit {
    /// The time between two tokens.
    interval: Duration,
    burst: u32,
}

impl RateLimit {
    /// Creates a limit of this many reconciles per second; zero counts as one. The burst is one: reconciles begin at even
    /// distances. Limits above a thousand per second need a [burst](Self::burst), because timers have a resolution of a
    /// millisecond.
    ///
    /// ```
    /// use kubewright_controller::RateLimit;
    ///
    /// assert_eq!(RateLimit::per_second(10), RateLimit::per_minute(600));
    /// assert_eq!(RateLimit::per_second(0), RateLimit::per_second(1));
    /// ```
    pub const fn per_second(reconciles: u32) -> Self {
        Self::per(Duration::from_secs(1), reconciles)
    }

    /// Creates a limit of this many reconciles per minute; zero counts as one. The burst is one: reconciles begin at even
    /// distances.
    ///
    /// ```
    /// use kubewright_controller::RateLimit;
    ///
    /// let limit = RateLimit::per_minute(30);
    /// assert_eq!(limit, RateLimit::per_minute(30).burst(1));
    /// ```
    pub const fn per_minute(reconciles: u32) -> Self {
        Self::per(Duration::from_mins(1), reconciles)
    }

    const fn per(time: Duration, reconciles: u32) -> Self {
        let reconciles = if reconciles == 0 { 1 } else { reconciles };
        // Rounded up, so that there are never more.
        let interval = time.as_nanos().div_ceil(reconciles as u128);
        Self {
            interval: Duration::from_nanos_u128(interval),
            burst: 1,
        }
    }

    /// Sets how many reconciles may begin at once after a quiet time; zero counts as one. Default: one.
    ///
    /// ```
    /// use kubewright_controller::RateLimit;
    ///
    /// // The overall limit of controller-runtime's older queues.
    /// let limit = RateLimit::per_second(10).burst(100);
    /// assert_ne!(limit, RateLimit::per_second(10));
    /// ```
    pub const fn burst(mut self, reconciles: u32) -> Self {
        self.burst = if reconciles == 0 { 1 } else { reconciles };
        self
    }
}

/// The tokens of a controller.
#[derive(Debug)]
pub(crate) struct Bucket {
    limit: RateLimit,
    /// When as many tokens are there as can be saved.
    full_at: Option<Instant>,
    /// Since when nothing but the limit keeps objects waiting.
    held: Option<Instant>,
    /// For how long it did so before.
    held_before: Duration,
}

impl Bucket {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            full_at: None,
            held: None,
            held_before: Duration::ZERO,
        }
    }

    fn full_in(&self, now: Instant) -> Duration {
        let full_in = |at: Instant| at.saturating_duration_since(now);
        self.full_at.map_or(Duration::ZERO, full_in)
    }

    /// How long it takes until there is a token; zero if there is one.
    pub(crate) fn token_in(&self, now: Instant) -> Duration {
        let all_but_one = self.limit.interval * (self.limit.burst - 1);
        self.full_in(now).saturating_sub(all_but_one)
    }

    /// Takes the token that is there.
    pub(crate) fn spend(&mut self, now: Instant) {
        self.settle(now);
        self.full_at = Some(now + self.full_in(now) + self.limit.interval);
    }

    /// Gives back a token for which there was no reconcile.
    pub(crate) fn give_back(&mut self) {
        self.full_at = self
            .full_at
            .and_then(|at| at.checked_sub(self.limit.interval));
    }

    /// Notes that nothing but the limit keeps objects waiting now.
    pub(crate) fn hold(&mut self, now: Instant) {
        self.held.get_or_insert(now);
    }

    /// Notes that the limit keeps nothing waiting any more.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.held_before = self.held(now);
        self.held = None;
    }

    /// For how long nothing but the limit has kept objects waiting, in all.
    pub(crate) fn held(&self, now: Instant) -> Duration {
        let lasting = self.held.map(|since| now.saturating_duration_since(since));
        self.held_before + lasting.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The bucket against its definition: tokens that come at an even rate, saved up to the burst.
        #[test]
        fn in_any_span_begin_at_most_the_tokens_of_that_span_and_one_burst(
            burst in 1..6_u32,
            pauses in proptest::collection::vec(0..3_000_u64, 1..60),
        ) {
            let limit = RateLimit::per_second(1).burst(burst);
            let mut bucket = Bucket::new(limit);
            let mut now = Instant::now();
            let mut begun: Vec<Instant> = Vec::new();
            // In thousandths, so that all is whole.
            let mut tokens = u64::from(burst) * 1000;
            for pause in pauses {
                now += Duration::from_millis(pause);
                tokens = (tokens + pause).min(u64::from(burst) * 1000);
                let missing = bucket.token_in(now);
                prop_assert_eq!(
                    missing,
                    Duration::from_millis(1000_u64.saturating_sub(tokens))
                );
                if missing.is_zero() {
                    bucket.spend(now);
                    begun.push(now);
                    tokens -= 1000;
                }
            }
            for (number, first) in begun.iter().enumerate() {
                for (others, last) in begun[number..].iter().enumerate() {
                    let whole = (*last - *first).as_secs() + u64::from(burst);
                    prop_assert!((others as u64) < whole);
                }
            }
        }
    }

    #[test]
    fn a_token_that_is_given_back_is_there_again() {
        let mut bucket = Bucket::new(RateLimit::per_second(1));
        let now = Instant::now();
        bucket.spend(now);
        assert_eq!(bucket.token_in(now), Duration::from_secs(1));
        bucket.give_back();
        assert_eq!(bucket.token_in(now), Duration::ZERO);
    }

    #[test]
    fn a_limit_never_lets_more_begin_than_it_says() {
        let limit = RateLimit::per_second(3);
        assert!(limit.interval * 3 >= Duration::from_secs(1));
        assert_eq!(RateLimit::per_second(10).burst(0).burst, 1);
    }

    #[test]
    fn the_time_for_which_it_holds_up_is_counted_once() {
        let mut bucket = Bucket::new(RateLimit::per_second(1));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        bucket.hold(after(1));
        bucket.hold(after(2));
        assert_eq!(bucket.held(after(3)), Duration::from_secs(2));
        bucket.spend(after(4));
        assert_eq!(bucket.held(after(9)), Duration::from_secs(3));
    }
}
