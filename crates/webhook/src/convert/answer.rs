//! Answers a ConversionReview: converts all of its objects, several at a time, or none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::available_parallelism;

use kubewright_review::{Body, ConversionReview, printable};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::conversion::Conversion;
use super::object::Failure;
use crate::refusal::Refusal;

/// Limits how many objects one conversion converts at a time, in all its calls, and so the memory that it needs besides
/// requests and responses.
pub(super) fn threads() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(at_once()))
}

fn at_once() -> usize {
    available_parallelism().map_or(2, usize::from).max(2)
}

/// State that the threads of one call share.
struct Work {
    review: ConversionReview,
    conversion: Arc<Conversion>,
    next: AtomicUsize,
    /// Whether the remaining objects need no conversion: one has failed, or the caller is gone.
    over: AtomicBool,
}

/// Answers a call. If an object cannot be converted, the response is a failure that says why.
///
/// # Cancel safety
///
/// Each thread stops after the object that it is converting.
pub(crate) async fn answer(
    conversion: &Arc<Conversion>,
    body: &Body,
    deadline: Instant,
) -> Result<Vec<u8>, Refusal> {
    let review = ConversionReview::read(body).map_err(|error| Refusal::no_conversion(&error))?;
    let count = review.count();
    let work = Arc::new(Work {
        conversion: Arc::clone(conversion),
        next: AtomicUsize::new(0),
        over: AtomicBool::new(false),
        review,
    });
    let _over = Over(Arc::clone(&work));
    let done = timeout_at(deadline, all(conversion, &work, count)).await;
    let review = &work.review;
    let message = match done {
        Ok(Ok(objects)) => return Ok(review.converted(objects)),
        Ok(Err(Failure { message, panicked })) => {
            if panicked {
                tracing::error!(uid = review.uid(), "{}", printable(&message));
            } else {
                tracing::warn!(uid = review.uid(), "{}", printable(&message));
            }
            message
        }
        Err(_) => {
            tracing::error!(
                uid = review.uid(),
                count,
                "a conversion reached its deadline"
            );
            format!(
                "the webhook did not convert the {count} objects of request {} before its deadline",
                review.uid()
            )
        }
    };
    Ok(review.failed(&message))
}

async fn all(
    conversion: &Conversion,
    work: &Arc<Work>,
    count: usize,
) -> Result<Vec<String>, Failure> {
    let mut threads = JoinSet::new();
    while threads.len() < count.min(at_once()) {
        let semaphore = Arc::clone(&conversion.threads);
        let permit = if threads.is_empty() {
            // The semaphore is never closed.
            semaphore.acquire_owned().await.ok()
        } else {
            semaphore.try_acquire_owned().ok()
        };
        let Some(permit) = permit else { break };
        let work = Arc::clone(work);
        threads.spawn_blocking(move || work.run(&permit));
    }
    let mut objects: Vec<Option<String>> = vec![None; count];
    let mut failure: Option<(usize, Failure)> = None;
    while let Some(done) = threads.join_next().await {
        for (index, converted) in done.unwrap_or_default() {
            match converted {
                Ok(object) => objects[index] = Some(object),
                // Of several failures, the response reports that of the first object, whichever was found first.
                Err(why) if failure.as_ref().is_none_or(|(first, _)| index < *first) => {
                    failure = Some((index, why));
                }
                Err(_) => {}
            }
        }
    }
    match failure {
        Some((_, why)) => Err(why),
        // A thread that ended early has left out some objects.
        None => objects.into_iter().collect::<Option<_>>().ok_or_else(|| Failure {
            message: "the conversion ended before all objects were converted; the log of the webhook says why".to_owned(),
            panicked: true,
        }),
    }
}

impl Work {
    /// Converts one object after the other until none is left.
    fn run(&self, _permit: &OwnedSemaphorePermit) -> Vec<(usize, Result<String, Failure>)> {
        let mut done = Vec::new();
        while !self.over.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = self.review.object(index) else {
                break;
            };
            let wanted = self.review.desired_api_version();
            let converted = self.conversion.convert_text(text, wanted);
            if converted.is_err() {
                self.over.store(true, Ordering::Relaxed);
            }
            done.push((index, converted));
        }
        done
    }
}

/// Stops the threads of a call when it ends or is dropped.
struct Over(Arc<Work>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}
