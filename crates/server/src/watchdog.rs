//! What a connection is doing, and the deadlines that follow from it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};

use crate::Limits;

/// What a connection is doing, noted by its stream, its calls and their answers.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    calls_begun: AtomicU64,
    calls_open: AtomicI64,
    answers_open: AtomicI64,
    answers_waiting: AtomicI64,
    answers_moved: AtomicU64,
    head_open: AtomicBool,
    write_blocked: AtomicBool,
    has_left_body: AtomicBool,
    lingers: AtomicBool,
    is_flooded: AtomicBool,
}

impl Progress {
    pub(crate) fn call_begins(&self) {
        self.head_open.store(false, Ordering::Relaxed);
        self.calls_begun.fetch_add(1, Ordering::Relaxed);
        self.calls_open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn call_ends(&self) {
        self.calls_open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn answers_open(&self, change: i64) {
        self.answers_open.fetch_add(change, Ordering::Relaxed);
    }

    /// Notes that it is the client's turn to take bytes of one answer more or less.
    pub(crate) fn answers_waiting(&self, change: i64) {
        self.answers_waiting.fetch_add(change, Ordering::Relaxed);
    }

    pub(crate) fn answer_moved(&self) {
        self.answers_moved.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_head_open(&self, is_open: bool) {
        self.head_open.store(is_open, Ordering::Relaxed);
    }

    pub(crate) fn set_write_blocked(&self, is_blocked: bool) {
        self.write_blocked.store(is_blocked, Ordering::Relaxed);
    }

    /// Notes that a body was not read to its end, so that its client may still be sending.
    pub(crate) fn leave_body(&self) {
        self.has_left_body.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_left_body(&self) -> bool {
        self.has_left_body.load(Ordering::Relaxed)
    }

    /// Notes that the last answer is out, and what the client still sends is thrown away.
    pub(crate) fn linger(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }

    pub(crate) fn lingers(&self) -> bool {
        self.lingers.load(Ordering::Relaxed)
    }

    /// Notes that the client has sent more frames than any client needs.
    pub(crate) fn set_flooded(&self) {
        self.is_flooded.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_flooded(&self) -> bool {
        self.is_flooded.load(Ordering::Relaxed)
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.calls_begun() > 0
    }

    pub(crate) fn calls_begun(&self) -> u64 {
        self.calls_begun.load(Ordering::Relaxed)
    }

    pub(crate) fn is_head_open(&self) -> bool {
        self.head_open.load(Ordering::Relaxed)
    }

    /// Whether the call that asks is the only one of its connection.
    pub(crate) fn has_one_call(&self) -> bool {
        self.calls_open.load(Ordering::Relaxed) <= 1
    }

    /// Whether no call is open, from the first byte of its headers to the last of its answer.
    pub(crate) fn is_idle(&self) -> bool {
        self.calls_open.load(Ordering::Relaxed) == 0
            && self.answers_open.load(Ordering::Relaxed) == 0
    }
}

/// A deadline that a connection has missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A request's headers have begun and do not end.
    SlowHeaders,
    /// The client does not take bytes of its answers.
    Stalled,
    /// There was no call for a long time.
    Idle,
    /// There has never been a call.
    Unused,
    /// The time that the connection was given to come to its end is over.
    Overdue,
}

/// Watches one connection with one timer.
#[derive(Debug)]
pub(crate) struct Watchdog {
    limits: Limits,
    head_since: Option<Instant>,
    stalled_since: Option<Instant>,
    idle_since: Option<Instant>,
    unused_since: Option<Instant>,
    moved: u64,
    overdue_at: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl Watchdog {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            head_since: None,
            stalled_since: None,
            idle_since: None,
            unused_since: None,
            moved: 0,
            overdue_at: None,
            timer: Box::pin(tokio::time::sleep(limits.idle.min(limits.send_time))),
            limits,
        }
    }

    /// Gives the connection a last span of time.
    pub(crate) fn overdue_in(&mut self, time: Duration) {
        self.overdue_at = Some(Instant::now() + time);
    }

    /// Looks at what the connection is doing. It has to be called after every poll of the connection.
    pub(crate) fn poll(&mut self, progress: &Progress, cx: &mut Context<'_>) -> Poll<Alarm> {
        self.observe(progress);
        loop {
            let earliest = self.earliest();
            if let Some((at, _)) = earliest
                && at < self.timer.deadline()
            {
                self.timer.as_mut().reset(at);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            // The last word is said to a call that another thread has ended meanwhile, so there is always a next look.
            self.timer
                .as_mut()
                .reset(now + self.limits.idle.min(self.limits.send_time));
            if let Some((at, alarm)) = earliest
                && at <= now
            {
                self.forget(alarm);
                return Poll::Ready(alarm);
            }
            self.observe(progress);
        }
    }

    fn observe(&mut self, progress: &Progress) {
        note(&mut self.head_since, progress.is_head_open());
        note(&mut self.idle_since, progress.is_idle());
        note(&mut self.unused_since, !progress.has_begun());
        let moved = progress.answers_moved.load(Ordering::Relaxed);
        if moved != self.moved {
            self.moved = moved;
            self.stalled_since = None;
        }
        let is_stalled = progress.write_blocked.load(Ordering::Relaxed)
            || progress.answers_waiting.load(Ordering::Relaxed) > 0;
        note(&mut self.stalled_since, is_stalled);
        if progress.lingers() && self.overdue_at.is_none() {
            self.overdue_in(self.limits.header_time);
        }
    }

    fn earliest(&self) -> Option<(Instant, Alarm)> {
        let after = |since: Option<Instant>, time: Duration| since.map(|since| since + time);
        [
            (
                after(self.head_since, self.limits.header_time),
                Alarm::SlowHeaders,
            ),
            (
                after(self.stalled_since, self.limits.send_time),
                Alarm::Stalled,
            ),
            (after(self.idle_since, self.limits.idle), Alarm::Idle),
            (
                after(self.unused_since, self.limits.first_call),
                Alarm::Unused,
            ),
            (self.overdue_at, Alarm::Overdue),
        ]
        .into_iter()
        .filter_map(|(at, alarm)| at.map(|at| (at, alarm)))
        .min_by_key(|(at, _)| *at)
    }

    fn forget(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::SlowHeaders => self.head_since = None,
            Alarm::Stalled => self.stalled_since = None,
            Alarm::Idle => self.idle_since = None,
            Alarm::Unused => self.unused_since = None,
            Alarm::Overdue => self.overdue_at = None,
        }
    }
}

fn note(since: &mut Option<Instant>, holds: bool) {
    if !holds {
        *since = None;
    } else if since.is_none() {
        *since = Some(Instant::now());
    }
}
