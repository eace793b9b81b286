//! What time it is: on this machine, and for the API server, which judges certificates by its own clock.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::state::Moment;

/// The dates of answers are whole seconds: what differs by less is the same time.
const SAME: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(crate) struct Clock {
    local: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    start: Instant,
    offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offset {
    None,
    Ahead(Duration),
    Behind(Duration),
}

impl Clock {
    /// The time of day. In a test whose time is paused it passes as that time does.
    pub(crate) fn system() -> Self {
        let (real, virtual_) = (std::time::Instant::now(), Instant::now());
        Self::of(move || {
            let real = std::time::Instant::now().duration_since(real);
            let passed = Instant::now().duration_since(virtual_);
            SystemTime::now() + passed.saturating_sub(real)
        })
    }

    pub(crate) fn of(local: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self {
            local: Arc::new(local),
            start: Instant::now(),
            offset: Offset::None,
        }
    }

    pub(crate) fn moment(&self) -> Moment {
        let local = (self.local)();
        Moment {
            now: self.seen_by_server(local),
            local,
            passed: Instant::now().duration_since(self.start),
        }
    }

    /// The same moment, after the clock was [set](Self::set).
    pub(crate) fn again(&self, moment: Moment) -> Moment {
        Moment {
            now: self.seen_by_server(moment.local),
            ..moment
        }
    }

    /// Goes by the API server's time of day from now on, as it was said in answer to a request that was sent at a moment.
    pub(crate) fn set(&mut self, server: SystemTime, sent: Moment) {
        let received = (self.local)();
        self.offset = match (
            server.duration_since(received),
            sent.local.duration_since(server),
        ) {
            (Ok(ahead), _) if ahead > SAME => Offset::Ahead(ahead),
            (_, Ok(behind)) if behind > SAME => Offset::Behind(behind),
            _ => Offset::None,
        };
    }

    /// By how much this machine's clock is wrong, if it is.
    pub(crate) fn error(&self) -> Option<Duration> {
        match self.offset {
            Offset::None => None,
            Offset::Ahead(by) | Offset::Behind(by) => Some(by),
        }
    }

    fn seen_by_server(&self, local: SystemTime) -> SystemTime {
        match self.offset {
            Offset::None => Some(local),
            Offset::Ahead(by) => local.checked_add(by),
            Offset::Behind(by) => local.checked_sub(by),
        }
        .unwrap_or(local)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Clock")
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}
