//! Waiting for something to become true, with a name for what is waited for.

use std::time::Duration;

use tokio::time::Instant;

use crate::fail;

/// Asks again and again until there is an answer, and gives up after ten seconds.
///
/// The clock is tokio's: under paused time the wait takes no time at all. There, ten seconds end before an outage of an hour
/// does: sleep for as long as it lasts first (`tokio::time::sleep`), which takes no time either.
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
        let begin = std::time::Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            if Instant::now() >= deadline {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the wall clock tells whether tokio's was paused"
                )]
                let is_paused = begin.elapsed() < PATIENCE / 2;
                let hint = if is_paused { PAUSED } else { "" };
                fail(format_args!(
                    "{caller}: {what} did not come within {PATIENCE:?}{hint}"
                ));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(10);
const PAUSED: &str = " of tokio's time, which is paused: if something longer has to pass first, such as an outage, sleep for \
                      as long (`tokio::time::sleep`) before waiting";

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
    #[should_panic(
        expected = "the train did not come within 10s of tokio's time, which is paused: if"
    )]
    async fn what_never_comes_is_named() {
        eventually("the train", async || None::<()>).await;
    }
}
