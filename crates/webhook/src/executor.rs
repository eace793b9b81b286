//! Where a handler runs: beside the server's own work, or on a thread of its own while it may block.
//!
//! A handler that blocks its thread would stop everything else that the thread serves: other webhooks, probes, deadlines. So
//! each hook begins on threads of its own, earns the cheaper place by answering quickly several times, and loses it when it
//! holds its thread for too long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant as WallInstant};

use kubewright_review::Patch;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, Span};

use crate::erased::{Run, Stop};

/// A handler that gives its thread back within this time does not block.
const QUICK: Duration = Duration::from_millis(2);

/// How many quick calls in a row earn the cheaper place.
const PROBATION: u32 = 8;

/// How many calls of one hook may hold threads of their own.
const THREADS: usize = 64;

/// Where the handlers of one hook run.
#[derive(Debug)]
pub(crate) struct Executor {
    start: WallInstant,
    quick_calls: AtomicU32,
    /// How many polls are at work beside the server's own work, and when the last of them began.
    polling: AtomicU32,
    last_poll: AtomicU64,
    threads: Arc<Semaphore>,
}

/// Why a handler gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Deadline,
    Panicked,
}

impl Executor {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            start: WallInstant::now(),
            quick_calls: AtomicU32::new(0),
            polling: AtomicU32::new(0),
            last_poll: AtomicU64::new(0),
            threads: Arc::new(Semaphore::new(THREADS)),
        })
    }

    /// Runs a handler until it answers, panics, or has no time left.
    ///
    /// # Cancel safety
    ///
    /// The handler is dropped with the future, wherever it runs.
    pub(crate) async fn run(
        self: &Arc<Self>,
        run: Run,
        deadline: Instant,
    ) -> Result<Result<Patch, Stop>, Ended> {
        let run = Guarded {
            run: Some(run),
            executor: Arc::clone(self),
        };
        let answer = if self.is_trusted() {
            timeout_at(deadline, Beside(run)).await
        } else {
            timeout_at(deadline, self.on_a_thread(run)).await
        };
        answer.unwrap_or(Err(Ended::Deadline))
    }

    fn is_trusted(&self) -> bool {
        if self.quick_calls.load(Ordering::Relaxed) < PROBATION {
            return clock_stands();
        }
        let held = self
            .now()
            .saturating_sub(self.last_poll.load(Ordering::Relaxed));
        if self.polling.load(Ordering::Relaxed) > 0 && u128::from(held) > QUICK.as_micros() {
            self.quick_calls.store(0, Ordering::Relaxed);
            return false;
        }
        true
    }

    async fn on_a_thread(&self, run: Guarded) -> Result<Result<Patch, Stop>, Ended> {
        let threads = Arc::clone(&self.threads);
        let Ok(permit) = threads.acquire_owned().await else {
            return Err(Ended::Deadline);
        };
        let (wanted, gone) = oneshot::channel::<()>();
        let runtime = Handle::current();
        let span = Span::current();
        let thread = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let answer = async {
                tokio::select! {
                    biased;
                    answer = run => answer,
                    // The sender sends nothing: it is dropped when the caller no longer waits.
                    _ = gone => Err(Ended::Deadline),
                }
            };
            runtime.block_on(answer.instrument(span))
        });
        let answer = thread.await;
        drop(wanted);
        answer.unwrap_or(Err(Ended::Panicked))
    }

    fn record_poll(&self, held: Duration) {
        if held > QUICK {
            self.quick_calls.store(0, Ordering::Relaxed);
        }
    }

    fn now(&self) -> u64 {
        let micros = WallInstant::now().duration_since(self.start).as_micros();
        u64::try_from(micros).unwrap_or(u64::MAX)
    }
}

/// Whether tokio's clock is paused, as in tests: work on another thread would then keep it from ever moving on.
fn clock_stands() -> bool {
    let (paused, start) = (Instant::now(), WallInstant::now());
    while WallInstant::now() == start {}
    Instant::now() == paused
}

/// A handler whose panics, also those in `Drop`, stay with the call.
struct Guarded {
    run: Option<Run>,
    executor: Arc<Executor>,
}

impl Future for Guarded {
    type Output = Result<Result<Patch, Stop>, Ended>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(run) = &mut self.run else {
            return Poll::Pending;
        };
        let start = WallInstant::now();
        let polled = catch(|| run.as_mut().poll(context));
        self.executor
            .record_poll(WallInstant::now().saturating_duration_since(start));
        match polled {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(answer)) => {
                self.executor.quick_calls.fetch_add(1, Ordering::Relaxed);
                Poll::Ready(Ok(answer))
            }
            None => Poll::Ready(Err(Ended::Panicked)),
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let run = self.run.take();
        catch(|| drop(run));
    }
}

/// A handler beside the server's own work, where it is observed from outside while it is polled.
struct Beside(Guarded);

impl Future for Beside {
    type Output = Result<Result<Patch, Stop>, Ended>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let executor = Arc::clone(&self.0.executor);
        executor.last_poll.store(executor.now(), Ordering::Relaxed);
        executor.polling.fetch_add(1, Ordering::Relaxed);
        let polled = Pin::new(&mut self.0).poll(context);
        executor.polling.fetch_sub(1, Ordering::Relaxed);
        polled
    }
}

/// Returns the result of an action, or `None` if it panics.
pub(crate) fn catch<T>(act: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(value) => Some(value),
        Err(payload) => {
            // Dropping the payload of a panic runs the handler's code, which may panic again.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                std::mem::forget(second);
            }
            None
        }
    }
}
