//! Waiting for something to become true, with a name for what is waited for.

use std::time::Duration;

use tokio::time::Instant;

use crate::fail;

/// Calls `ask` until it returns a value, and returns that. Fails the test after ten seconds.
///
/// The first pause is a millisecond, the longest a tenth of a second. The clock is tokio's: under paused time the wait takes
/// no time at all. There, ten seconds end before an outage of an hour does: sleep for as long as it lasts first
/// (`tokio::time::sleep`), which takes no time either.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{TestCluster, eventually, yaml};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// let writer = cluster.clone();
/// tokio::spawn(async move {
///     let map: ConfigMap = yaml("metadata: {name: web}");
///     writer.create(&map).await.expect_allowed();
/// });
/// let map = eventually("the ConfigMap web", async || cluster.get::<ConfigMap>("web").await).await;
/// assert_eq!(map.metadata.name.as_deref(), Some("web"));
/// # });
/// ```
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
        let deadline = Instant::now() + DEFAULT_TIMEOUT;
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
                let is_paused = begin.elapsed() < DEFAULT_TIMEOUT / 2;
                let hint = if is_paused { PAUSED } else { "" };
                fail(format_args!(
                    "{caller}: {what} did not come within {DEFAULT_TIMEOUT:?}{hint}"
                ));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
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
