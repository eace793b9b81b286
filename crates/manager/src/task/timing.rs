//! When the runs of a task are due.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kubewright_controller::Clock;
use tokio::time::{Instant, sleep, sleep_until};

use super::cron::Cron;

/// When a task runs. Each time but the first one of `Once` may be delayed by less than the jitter.
#[derive(Clone, Debug)]
pub(super) enum Timing {
    Once,
    Every(Duration, Duration),
    Cron(Cron, Duration),
}

/// The times of a task from when it begins.
pub(super) struct Times {
    timing: Timing,
    clock: Clock,
    begun: Instant,
    /// The last time that was used.
    last: Option<Tick>,
}

/// A time at which a run is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    tick: Tick,
    delay: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Tick {
    Once,
    /// So many periods after the begin.
    Period(u32, Instant),
    /// A time of the day, which comes when the clock says so: the clock may be set meanwhile.
    Day(Timestamp),
}

impl Times {
    pub(super) fn new(timing: Timing, clock: Clock) -> Self {
        Self {
            timing,
            clock,
            begun: Instant::now(),
            last: None,
        }
    }

    /// The next time that has not passed.
    pub(super) fn next(&self) -> Option<Due> {
        let (tick, jitter) = match &self.timing {
            Timing::Once => {
                let is_first = self.last.is_none();
                (is_first.then_some(Tick::Once), Duration::ZERO)
            }
            Timing::Every(period, jitter) => (self.next_period(*period), *jitter),
            Timing::Cron(cron, jitter) => {
                let now = self.clock.now();
                // A clock that is set back does not make a time come twice.
                let after = match self.last {
                    Some(Tick::Day(last)) => now.max(last),
                    _ => now,
                };
                (cron.next_after(after).map(Tick::Day), *jitter)
            }
        };
        Some(Due {
            tick: tick?,
            delay: jitter.mul_f64(fastrand::f64()),
        })
    }

    fn next_period(&self, period: Duration) -> Option<Tick> {
        let Some(Tick::Period(last, _)) = self.last else {
            // The first is not missed because a moment has passed since.
            return Some(Tick::Period(0, self.begun));
        };
        let passed = Instant::now().duration_since(self.begun);
        let number = passed.as_nanos().div_ceil(period.as_nanos());
        let number = u32::try_from(number).ok()?.max(last.checked_add(1)?);
        let at = self.begun.checked_add(period.checked_mul(number)?)?;
        Some(Tick::Period(number, at))
    }

    /// Notes that a time has come.
    pub(super) fn uses(&mut self, due: Due) {
        self.last = Some(due.tick);
    }

    /// The time of the day that was used last.
    pub(super) fn last(&self) -> Option<Timestamp> {
        match self.last? {
            Tick::Once => None,
            Tick::Period(_, at) => {
                let ago = SignedDuration::try_from(Instant::now().duration_since(at)).ok()?;
                self.clock.now().checked_sub(ago).ok()
            }
            Tick::Day(time) => Some(time),
        }
    }
}

impl Due {
    /// The time of day at which it is due.
    pub(super) fn at(&self, clock: Clock) -> Timestamp {
        let now = clock.now();
        let later =
            |delay: Duration| SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        let at = match self.tick {
            Tick::Once => Ok(now),
            Tick::Period(_, at) => {
                let at = at + self.delay;
                now.checked_add(later(at.saturating_duration_since(Instant::now())))
            }
            Tick::Day(time) => time.checked_add(later(self.delay)),
        };
        at.unwrap_or(Timestamp::MAX)
    }

    /// Waits until the time has come.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn wait(self, clock: Clock) {
        match self.tick {
            Tick::Once => {}
            Tick::Period(_, at) => sleep_until(at + self.delay).await,
            Tick::Day(time) => {
                let delay = SignedDuration::try_from(self.delay).unwrap_or_default();
                let time = time.checked_add(delay).unwrap_or(time);
                loop {
                    let left = time.duration_since(clock.now());
                    let Ok(left) = Duration::try_from(left) else {
                        return;
                    };
                    if left.is_zero() {
                        return;
                    }
                    sleep(left.min(LOOK_AT_THE_CLOCK)).await;
                }
            }
        }
    }
}

/// A clock that was set, or a machine that slept, is noticed after so long at the latest.
const LOOK_AT_THE_CLOCK: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_back_does_not_make_a_time_come_twice() {
        let cron: Cron = "*/5 * * * *".parse().unwrap();
        let clock = Clock::new();
        let mut times = Times::new(Timing::Cron(cron.clone(), Duration::ZERO), clock);
        let ahead = clock.now() + SignedDuration::from_hours(1);
        let last = cron.next_after(ahead).unwrap();
        times.uses(Due {
            tick: Tick::Day(last),
            delay: Duration::ZERO,
        });
        let next = times.next().unwrap().tick;
        let after = cron.next_after(last).unwrap();
        assert!(matches!(next, Tick::Day(time) if time == after), "{next:?}");
    }

    #[test]
    fn a_period_that_has_just_begun_is_not_missed() {
        let timing = Timing::Every(Duration::from_hours(1), Duration::ZERO);
        let mut times = Times::new(timing, Clock::new());
        for number in 0..3 {
            let due = times.next().unwrap();
            assert!(
                matches!(due.tick, Tick::Period(found, _) if found == number),
                "{due:?}"
            );
            times.uses(due);
        }
    }
}
