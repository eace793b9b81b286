//! Replicas that share objects, which are killed again and again while the objects change.

mod names;
mod witness;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kubewright_testing::{Server, TestCluster, yaml};
pub use names::{LABEL, LEASE, NAMESPACE, SEEN, SHARDS, WANTED, WRITER};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};
use witness::Witness;

use crate::Ending;
use crate::process::Replica;

/// How the replicas divide the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[expect(clippy::exhaustive_enums, reason = "there is no third way")]
pub enum Work {
    /// Each has its share.
    Shared,
    /// One has all.
    OfLeader,
}

/// What is done to the replicas.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    work: Work,
    objects: usize,
    changes_per_second: u32,
    reconcile: Duration,
    time: Duration,
    kill_every: Option<Duration>,
}

/// What has come of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// How many objects are not as they were wanted last.
    pub lost: usize,
    /// How many writes came from a replica that did not hold the shard when they were stored.
    pub doubled: usize,
    /// How many writes there were.
    pub writes: usize,
    /// How many changes there were to write about.
    pub changes: u64,
    /// How many replicas were killed.
    pub kills: usize,
    /// Writes for each second of the trial.
    pub writes_per_second: f64,
}

impl Trial {
    /// Three replicas divide the work of ten seconds.
    #[must_use]
    pub const fn of(work: Work) -> Self {
        Self {
            work,
            objects: 300,
            changes_per_second: 100,
            reconcile: Duration::from_millis(1),
            time: Duration::from_secs(10),
            kill_every: None,
        }
    }

    /// Has it last for so long.
    #[must_use]
    pub const fn lasting(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Has objects change so often. Default: 100 times a second.
    #[must_use]
    pub const fn changes_per_second(mut self, changes: u32) -> Self {
        self.changes_per_second = changes;
        self
    }

    /// Has so many objects. Default: 300.
    #[must_use]
    pub const fn objects(mut self, objects: usize) -> Self {
        self.objects = objects;
        self
    }

    /// Has a reconcile take so long, beside its write. Default: 1 ms.
    #[must_use]
    pub const fn reconcile(mut self, takes: Duration) -> Self {
        self.reconcile = takes;
        self
    }

    /// Has one of the replicas killed again and again, and another started in its place. Default: none.
    #[must_use]
    pub const fn kill_every(mut self, period: Duration) -> Self {
        self.kill_every = Some(period);
        self
    }

    /// Runs the trial with replicas of a program.
    ///
    /// # Errors
    ///
    /// When the program does not start, or a request of the trial itself fails.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends what has been started.
    pub async fn run(self, program: &Path) -> Result<Verdict> {
        let cluster = TestCluster::builder().on(Server::Embedded).listen();
        let cluster = cluster.start().await;
        for number in 0..self.objects {
            let map: ConfigMap = yaml(&format!(
                "metadata: {{name: map-{number}, labels: {{{LABEL}: 'yes'}}, annotations: {{{WANTED}: '0'}}}}"
            ));
            cluster.create(&map).await.expect_allowed();
        }
        let kubeconfig = tempfile::NamedTempFile::new()?;
        std::fs::write(kubeconfig.path(), cluster.kubeconfig())?;
        let witness = Witness::of(cluster.client());
        let mut replicas = Vec::new();
        for number in 0..3 {
            replicas.push(self.start(program, number, kubeconfig.path()).await?);
        }
        // All have their shares.
        sleep(Duration::from_secs(5)).await;
        let (before, begun) = (witness.writes(), Instant::now());
        let (changes, kills) = tokio::try_join!(
            self.change(&cluster),
            self.kill(program, &mut replicas, kubeconfig.path())
        )?;
        let writes = witness.writes() - before;
        let seconds = begun.elapsed().as_secs_f64();
        let lost = self.lost(&cluster).await?;
        drop(replicas);
        let doubled = match self.work {
            Work::Shared => witness.doubled(),
            Work::OfLeader => 0,
        };
        #[expect(clippy::cast_precision_loss, reason = "there are not that many writes")]
        Ok(Verdict {
            lost,
            doubled,
            writes,
            changes,
            kills,
            writes_per_second: writes as f64 / seconds,
        })
    }

    async fn start(&self, program: &Path, number: usize, kubeconfig: &Path) -> Result<Replica> {
        let name = format!("replica-{number}");
        let work = match self.work {
            Work::Shared => "shared",
            Work::OfLeader => "of-leader",
        };
        let takes = self.reconcile.as_millis().to_string();
        let arguments = [
            "--name",
            &name,
            "--work",
            work,
            "--takes",
            &takes,
            "--log-level",
            "off",
        ];
        let (replica, [said]) = Replica::start(program, &name, &arguments, kubeconfig).await?;
        ensure!(said == "running\n", "{name} does not run: it says {said:?}");
        Ok(replica)
    }

    /// Changes the objects in turn, and returns how often.
    async fn change(&self, cluster: &TestCluster) -> Result<u64> {
        let api: &Api<ConfigMap> = &Api::namespaced(cluster.client(), NAMESPACE);
        let period = Duration::from_millis(20);
        let (mut changes, mut number) = (0_u64, 0);
        let (begun, mut tick) = (Instant::now(), Instant::now());
        while begun.elapsed() < self.time {
            // An API server that cannot keep up gets fewer, and never all at once.
            let batch: Vec<(usize, u64)> = (0..self.changes_per_second / 50)
                .map(|_| {
                    number = (number + 1) % self.objects;
                    changes += 1;
                    (number, changes)
                })
                .collect();
            let patches = batch.into_iter().map(|(number, change)| async move {
                let patch = json!({"metadata": {"annotations": {WANTED: change.to_string()}}});
                let (name, patch) = (format!("map-{number}"), Patch::Merge(&patch));
                let patched = api.patch(&name, &PatchParams::default(), &patch).await;
                patched.map(drop)
            });
            let patches = stream::iter(patches).buffer_unordered(16);
            patches.try_collect::<Vec<()>>().await?;
            tick = (tick + period).max(Instant::now());
            sleep_until(tick).await;
        }
        Ok(changes)
    }

    /// Kills the oldest replica again and again, and returns how often.
    async fn kill(
        &self,
        program: &Path,
        replicas: &mut Vec<Replica>,
        kubeconfig: &Path,
    ) -> Result<usize> {
        let Some(period) = self.kill_every else {
            return Ok(0);
        };
        let begun = Instant::now();
        let mut kills = 0;
        while begun.elapsed() + period < self.time {
            sleep(period).await;
            replicas.remove(0).end(Ending::Killed).await?;
            kills += 1;
            let next = self.start(program, kills + 2, kubeconfig).await;
            replicas.push(next.context("cannot start the replica that follows")?);
        }
        Ok(kills)
    }

    /// Waits until all objects are as they are wanted, for as long as that may take, and returns how many are not.
    async fn lost(&self, cluster: &TestCluster) -> Result<usize> {
        let api: Api<ConfigMap> = Api::namespaced(cluster.client(), NAMESPACE);
        let begun = Instant::now();
        loop {
            let all = api
                .list(&kube::api::ListParams::default().labels(LABEL))
                .await?;
            let is_done = |map: &&ConfigMap| {
                let wanted = map
                    .metadata
                    .annotations
                    .as_ref()
                    .and_then(|all| all.get(WANTED));
                wanted.is_some() && wanted == map.data.as_ref().and_then(|data| data.get(SEEN))
            };
            let lost = self.objects - all.items.iter().filter(is_done).count();
            if lost == 0 || begun.elapsed() > PATIENCE {
                return Ok(lost);
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
}

const PATIENCE: Duration = Duration::from_mins(1);
