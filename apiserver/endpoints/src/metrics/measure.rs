//! One request that is being counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::Response;
use tokio::time::Instant;

use super::counters::Metrics;
use super::series::Series;
use crate::body::Body;

/// A request that is being handled. It is counted when it is answered, or, as one that timed out, when it is dropped.
#[derive(Debug)]
pub(crate) struct Measure {
    series: Option<Arc<Series>>,
    began: Instant,
    /// Where the request counts as one of those in flight; none for one that runs for long.
    inflight: Option<(Arc<Metrics>, bool)>,
    code: u16,
}

impl Measure {
    pub(super) fn begin(
        metrics: &Arc<Metrics>,
        series: Option<Arc<Series>>,
        mutates: bool,
        runs_long: bool,
    ) -> Self {
        const TIMED_OUT: u16 = 504;
        let inflight = (!runs_long).then(|| {
            metrics.inflight(mutates).fetch_add(1, Ordering::Relaxed);
            (Arc::clone(metrics), mutates)
        });
        if runs_long && let Some(series) = &series {
            series.running.fetch_add(1, Ordering::Relaxed);
        }
        Self {
            series,
            began: Instant::now(),
            inflight,
            code: TIMED_OUT,
        }
    }

    /// Notes an answer that is an error.
    pub(crate) fn failed(mut self, code: u16) {
        self.code = code;
    }

    /// Notes an answer. A watch goes on: its events are counted, and itself when it ends.
    pub(crate) fn answered(mut self, answer: Response<Body>) -> Response<Body> {
        self.code = answer.status().as_u16();
        if let Some(bytes) = answer.body().length() {
            if let Some(series) = self.series.as_ref().filter(|series| series.reads()) {
                series.answer_bytes.observe(length(bytes));
            }
            return answer;
        }
        answer.map(|body| {
            body.inspected(move |event| {
                if let Some(series) = &self.series {
                    series.event_bytes.observe(length(event.len() as u64));
                }
            })
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "an answer is shorter than that")]
fn length(bytes: u64) -> f64 {
    bytes as f64
}

impl Drop for Measure {
    fn drop(&mut self) {
        let runs_long = self.inflight.is_none();
        if let Some((metrics, mutates)) = &self.inflight {
            let inflight: &AtomicI64 = metrics.inflight(*mutates);
            inflight.fetch_sub(1, Ordering::Relaxed);
        }
        let Some(series) = &self.series else {
            return;
        };
        if runs_long {
            series.running.fetch_sub(1, Ordering::Relaxed);
        }
        series.answered(self.code);
        series.seconds.observe(self.began.elapsed().as_secs_f64());
    }
}
