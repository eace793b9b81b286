//! Waiting for something to become true, with a name for what is waited for.

use std::time::Duration;

use tokio::time::Instant;

use crate::fail;

/// Asks again and again until there is an answer, and gives up after ten seconds.
///
/// The clock is tokio's: under paused time the wait takes no time at all.
///
/// # Panics
/// There was no answer in time; the message names `what` and points at the caller.
#[track_caller]
pub fn eventually<T>(
    what: &str,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            if Instant::now() >= deadline {
                fail(format_args!(
                    "{caller}: {what} did not come within {PATIENCE:?}"
                ));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_waited_for() {
        let mut asked = 0;
        let answer = eventually("the third answer", async || {
            asked += 1;
            (asked == 3).then_some("here")
        })
        .await;
        assert_eq!(answer, "here");
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "the train did not come within 10s")]
    async fn what_never_comes_is_named() {
        eventually("the train", async || None::<()>).await;
    }
}
