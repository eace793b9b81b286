//! Whether the API server of another cluster answers.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kubewright_controller::{Backoff, Informers};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::sentence::sentence;
use crate::{ClusterState, Live};

/// The state of a cluster, for those who ask and for the log.
pub(super) struct Health {
    cluster: Arc<str>,
    states: watch::Sender<Arc<ClusterState>>,
    live: Live<ClusterState>,
}

/// What an API server says to a request that every user may make.
enum Answer {
    Good,
    Refusal(String),
    None(String),
}

impl Health {
    pub(super) fn new(
        cluster: Arc<str>,
        (states, live): (watch::Sender<Arc<ClusterState>>, Live<ClusterState>),
    ) -> Self {
        Self {
            cluster,
            states,
            live,
        }
    }

    pub(super) fn state(&self) -> Live<ClusterState> {
        self.live.clone()
    }

    /// One line for each change, and none for another reason.
    pub(super) fn is(&self, state: ClusterState) {
        let cluster = &*self.cluster;
        self.states.send_if_modified(|known| {
            if **known == state {
                return false;
            }
            let is_another = known.as_str() != state.as_str();
            match &state {
                ClusterState::Ready => {
                    tracing::info!(cluster, "the cluster is ready");
                }
                ClusterState::Unreachable(why) if is_another => {
                    tracing::warn!(cluster, why, "the cluster is unreachable");
                }
                ClusterState::Connecting => {
                    tracing::info!(cluster, "connecting to the cluster");
                }
                ClusterState::Unreachable(_) => {}
            }
            *known = Arc::new(state);
            true
        });
    }

    /// Asks the API server from time to time. Ends when it answers again after it had said nothing: connections that are open since
    /// then may never say anything again.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn watch_over(&self, client: &Client, informers: &Informers) {
        let (mut failures, mut was_silent) = (0, false);
        loop {
            match ask(client).await {
                Answer::Good if was_silent => return,
                Answer::Good => {
                    failures = 0;
                    if !informers.missing().is_empty() {
                        self.is(ClusterState::Connecting);
                        tokio::select! {
                            () = informers.synced() => {}
                            () = sleep(PERIOD) => continue,
                        }
                    }
                    self.is(ClusterState::Ready);
                    sleep(PERIOD).await;
                }
                Answer::Refusal(why) => {
                    self.is(ClusterState::Unreachable(why));
                    failures += 1;
                    sleep(BACKOFF.pause(failures)).await;
                }
                Answer::None(why) => {
                    self.is(ClusterState::Unreachable(why));
                    was_silent = true;
                    failures += 1;
                    sleep(BACKOFF.pause(failures)).await;
                }
            }
        }
    }
}

/// Every user may read the version, and one who may not is known.
async fn ask(client: &Client) -> Answer {
    let Ok(request) = http::Request::get("/version").body(Vec::new()) else {
        return Answer::None("the request cannot be made".to_owned());
    };
    match timeout(PATIENCE, client.request_text(request)).await {
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            Answer::None(format!("the API server does not answer within {seconds} s"))
        }
        Ok(Ok(_)) => Answer::Good,
        Ok(Err(kube::Error::Api(status))) => match status.code {
            401 => Answer::Refusal(
                "the API server does not accept the credentials of the kubeconfig (401)".to_owned(),
            ),
            code @ 500.. => Answer::Refusal(format!("the API server answers {code}")),
            _ => Answer::Good,
        },
        Ok(Err(error)) => Answer::Refusal(sentence(&error)),
    }
}

const PERIOD: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(10);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), PERIOD);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::span;
    use tracing::subscriber::{Interest, Subscriber, set_default, with_default};

    use super::*;

    /// Counts the lines of a log.
    #[derive(Clone, Default)]
    struct Lines(Arc<AtomicUsize>);

    impl Subscriber for Lines {
        fn register_callsite(&self, _: &'static tracing::Metadata<'static>) -> Interest {
            Interest::sometimes()
        }

        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn each_change_of_a_state_is_one_line_whatever_its_reasons() {
        let lines = Lines::default();
        let health = Health::new(
            "east".into(),
            Live::channel(Arc::new(ClusterState::Connecting)),
        );
        let away = |why: &str| ClusterState::Unreachable(why.to_owned());
        with_default(lines.clone(), || {
            for (state, expected) in [
                (ClusterState::Connecting, 0),
                (away("a"), 1),
                (away("b"), 1),
                (away("a"), 1),
                (ClusterState::Ready, 2),
                (ClusterState::Ready, 2),
                (away("a"), 3),
            ] {
                health.is(state.clone());
                assert_eq!(*health.state().current(), state);
                assert_eq!(lines.0.load(Ordering::Relaxed), expected, "{state}");
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_is_asked_less_often_the_longer_it_is_away() {
        // Without one, the first line that it logs could keep those of the test above from being looked at.
        let _log = set_default(Lines::default());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let refusing = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Err::<http::Response<String>, _>(std::io::Error::other("refused")) }
        });
        let client = Client::new(refusing, "default");
        let health = Health::new(
            "east".into(),
            Live::channel(Arc::new(ClusterState::Connecting)),
        );
        let hour = Duration::from_hours(1);
        let informers = Informers::new();
        let watched = health.watch_over(&client, &informers);
        assert!(timeout(hour, watched).await.is_err());
        let asked = asked.load(Ordering::Relaxed);
        assert!((360..=800).contains(&asked), "{asked}");
        let state = health.state().current().to_string();
        assert!(
            state.starts_with("unreachable: ") && state.contains("refused"),
            "{state}"
        );
    }
}
