//! The group batch.

mod cron_job;
mod indexes;
mod job;
mod policies;
mod schedule;
mod status;
pub(crate) mod validation;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CronJob" => Arc::new(cron_job::CronJob),
        "Job" => Arc::new(job::Job),
        _ => return None,
    })
}
