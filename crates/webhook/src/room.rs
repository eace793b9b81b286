//! The memory that reviews may take while they are answered: what they are read into, not only their bytes.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::refusal::Refusal;

/// Memory is accounted for in these, so that a large budget fits the semaphore's numbers.
const UNIT: usize = 1024;

/// What a review takes for each of its bytes: its strings, read and written, and the patch.
const BYTE: usize = 4;

/// What it takes beside that for each quotation mark: maps with many short keys are many times as large as their JSON.
const QUOTE: usize = 40;

/// What takes less never waits for what takes more: a quarter of the memory is for these alone.
const SMALL: usize = 512 * 1024;

/// The memory for all reviews.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// What all large reviews may take together.
    large_bytes: usize,
}

impl Room {
    pub(crate) fn of(bytes: usize) -> Self {
        let small_bytes = (bytes / 4).max(SMALL);
        let large_bytes = bytes.saturating_sub(small_bytes).max(SMALL);
        Self {
            small: Arc::new(Semaphore::new(small_bytes / UNIT)),
            large: Arc::new(Semaphore::new(large_bytes / UNIT)),
            large_bytes,
        }
    }

    /// Takes the memory that a review needs, or waits for it. It is given back when the permit is dropped.
    pub(crate) async fn take(
        &self,
        review: &str,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        let needed = weight(review);
        if needed > self.large_bytes {
            return Err(Refusal::too_heavy(needed, self.large_bytes));
        }
        self.take_bytes(needed, deadline).await
    }

    /// Takes the memory for objects that are converted one after the other, as far as there is any.
    pub(crate) async fn take_for_conversion(
        &self,
        review: &str,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        let needed = (review.len() * BYTE).min(self.large_bytes);
        self.take_bytes(needed, deadline).await
    }

    async fn take_bytes(
        &self,
        bytes: usize,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Refusal> {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX);
        let free = if bytes <= SMALL {
            &self.small
        } else {
            &self.large
        };
        if let Ok(permit) = Arc::clone(free).try_acquire_many_owned(units) {
            return Ok(permit);
        }
        let waiting = Arc::clone(free).acquire_many_owned(units);
        match timeout_at(deadline, waiting).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed.
            Ok(Err(_)) | Err(_) => Err(Refusal::no_room()),
        }
    }
}

/// About how much memory it takes to answer a review.
fn weight(review: &str) -> usize {
    let quotes = review.bytes().filter(|byte| *byte == b'"').count();
    review.len() * BYTE + quotes * QUOTE
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    const MIB: usize = 1 << 20;

    #[tokio::test(start_paused = true)]
    async fn many_short_strings_weigh_more_than_a_long_one_of_as_many_bytes() {
        let (long, short) = ("x".repeat(200_000), r#""a":"","#.repeat(28_571));
        assert_eq!((long.len(), weight(&long)), (200_000, 800_000));
        assert_eq!((short.len(), weight(&short)), (199_997, 5_371_348));
        let room = Room::of(4 * MIB);
        drop(room.take(&long, soon()).await.unwrap());
        assert_eq!(room.take(&short, soon()).await.unwrap_err().code(), 413);
        drop(room.take_for_conversion(&short, soon()).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_review_waits_for_room_until_its_deadline_and_a_small_one_does_not() {
        let room = Room::of(4 * MIB);
        let (review, small) = ("x".repeat(600_000), "x".repeat(100_000));
        let held = room.take(&review, soon()).await.unwrap();
        assert_eq!(room.take(&review, soon()).await.unwrap_err().code(), 503);
        let later = room.take(&review, soon());
        let meanwhile = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            drop(room.take(&small, Instant::now()).await.unwrap());
            drop(held);
        };
        let (later, ()) = tokio::join!(later, meanwhile);
        drop(later.unwrap());
    }
}
