//! Calls without end: requests to the API server that it cannot answer without a replica.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use kubewright_testing::{TestCluster, yaml};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What a replica answers.
pub const ANSWER: &str = "answered by a replica";

const TIMEOUT: Duration = Duration::from_mins(1);

/// A call that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Lost {
    begun: Instant,
    ended: Instant,
    /// What the API server said.
    pub message: String,
}

#[derive(Debug)]
pub(crate) struct Calls {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
    /// Periods in which no replica could have answered.
    dark: Vec<(Instant, Instant)>,
    /// Periods in which a replica's end cut connections.
    cut: Vec<(Instant, Instant)>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    answered: AtomicUsize,
    lost: Mutex<Vec<Lost>>,
}

impl Calls {
    pub(crate) fn none() -> Self {
        Self {
            shared: Arc::default(),
            tasks: JoinSet::new(),
            dark: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// Starts once a first call was answered, by which time the API server has loaded the configuration.
    pub(crate) async fn start(
        cluster: &TestCluster,
        at_once: usize,
        pause: Duration,
    ) -> Result<Self> {
        let mut calls = Self::none();
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), cluster.namespace());
        let answered = async {
            while call(&maps, 0).await.is_err() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(TIMEOUT, answered)
            .await
            .context("no call is answered")?;
        for number in 0..at_once {
            let (shared, maps) = (Arc::clone(&calls.shared), maps.clone());
            calls.tasks.spawn(async move {
                while !shared.is_over.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    match call(&maps, number).await {
                        Ok(()) => {
                            shared.answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(message) => shared.lose(Lost {
                            begun,
                            ended: Instant::now(),
                            message,
                        }),
                    }
                    sleep(pause).await;
                }
            });
        }
        Ok(calls)
    }

    pub(crate) fn made(&self) -> usize {
        let lost = self.shared.lost.lock();
        let lost = lost.unwrap_or_else(PoisonError::into_inner).len();
        self.shared.answered.load(Ordering::Relaxed) + lost
    }

    /// Excuses every call that fails in a period in which no replica could have answered.
    pub(crate) fn excuse_all(&mut self, from: Instant, to: Instant) {
        self.dark.push((from, to));
    }

    /// Excuses every connection that is cut in a period in which a replica ended.
    pub(crate) fn excuse_cut(&mut self, from: Instant, to: Instant) {
        self.cut.push((from, to));
    }

    /// Waits for the calls in progress, and returns the number of answered calls, and the failed calls that have no
    /// excuse.
    pub(crate) async fn end(&mut self) -> (usize, Vec<Lost>) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        while self.tasks.join_next().await.is_some() {}
        let lost = self.shared.lost.lock();
        let lost = lost.unwrap_or_else(PoisonError::into_inner);
        let lost = lost.iter().filter(|lost| {
            let was_cut = lost.was_cut() && self.cut.iter().any(|time| lost.touches(*time));
            !was_cut && !self.dark.iter().any(|time| lost.touches(*time))
        });
        (
            self.shared.answered.load(Ordering::Relaxed),
            lost.cloned().collect(),
        )
    }
}

impl Shared {
    fn lose(&self, lost: Lost) {
        let mut all = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(lost);
    }
}

impl Lost {
    fn touches(&self, (from, to): (Instant, Instant)) -> bool {
        self.begun <= to && from <= self.ended
    }

    /// Whether the connection broke. A certificate that is not believed is another thing.
    fn was_cut(&self) -> bool {
        [
            "EOF",
            "closed connection",
            "connection reset",
            "connection refused",
            "broken pipe",
        ]
        .iter()
        .any(|words| self.message.contains(words))
    }
}

/// Makes the API server call the webhook, and stores nothing.
async fn call(maps: &Api<ConfigMap>, number: usize) -> Result<(), String> {
    let map: ConfigMap = yaml(&format!("metadata: {{name: call-{number}}}"));
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match maps.create(&dry, &map).await {
        // The webhook says this of every object, so that no call can be answered without it.
        Err(kube::Error::Api(status)) if status.message.contains(ANSWER) => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("the webhook was not called".to_owned()),
    }
}
