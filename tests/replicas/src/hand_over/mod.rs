//! Hand-overs between leaders, witnessed by what they write.

mod witness;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::{Server, TestCluster, yaml};
use witness::Witness;
pub use witness::{LEASE, NAMESPACE, WITNESS};

use crate::Ending;
use crate::process::Replica;

/// How long the other replicas wait for a leader that was killed.
pub const LEASE_DURATION: Duration = Duration::from_secs(1);

/// Three replicas on one API server, of which one leads.
#[derive(Debug)]
pub struct Trial {
    program: PathBuf,
    kubeconfig: tempfile::NamedTempFile,
    replicas: Vec<Replica>,
    started: usize,
    witness: Witness,
    cluster: TestCluster,
}

impl Trial {
    /// Starts an API server and replicas of a program, and waits until one leads.
    ///
    /// # Errors
    ///
    /// When the program does not start, or no replica becomes the leader.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends what has been started.
    pub async fn start(program: &Path) -> Result<Self> {
        let cluster = TestCluster::builder().on(Server::Embedded).listen();
        let cluster = cluster.start().await;
        let witness: ConfigMap = yaml(&format!("metadata: {{name: {WITNESS}}}"));
        cluster.create(&witness).await.expect_allowed();
        let kubeconfig = tempfile::NamedTempFile::new()?;
        std::fs::write(kubeconfig.path(), cluster.kubeconfig())?;
        let mut trial = Self {
            program: program.to_owned(),
            kubeconfig,
            replicas: Vec::new(),
            started: 0,
            witness: Witness::of(cluster.client()),
            cluster,
        };
        for _ in 0..3 {
            trial.add_replica().await?;
        }
        trial.witness.next_writer("").await?;
        Ok(trial)
    }

    /// Ends the leader, and returns how long it took until another wrote. A new replica takes the place of the old one.
    ///
    /// # Errors
    ///
    /// When no other replica becomes the leader, or a replica cannot be started or stopped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves one replica fewer.
    pub async fn hand_over(&mut self, ending: Ending) -> Result<Duration> {
        let leader = self.witness.writer();
        let place = self.replicas.iter().position(|one| one.name() == leader);
        let replica = self
            .replicas
            .remove(place.context("the leader is none of the replicas")?);
        let begun = Instant::now();
        let (ended, next) = tokio::join!(replica.end(ending), self.witness.next_writer(&leader));
        ended?;
        let taken = next?.duration_since(begun);
        self.add_replica().await?;
        Ok(taken)
    }

    /// Ends all replicas, and returns how many have led and how often they wrote.
    ///
    /// # Errors
    ///
    /// When a replica wrote while it did not hold the Lease.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the replicas.
    pub async fn verdict(mut self) -> Result<(usize, usize)> {
        self.replicas.clear();
        self.witness.verdict(&self.cluster).await
    }

    async fn add_replica(&mut self) -> Result<()> {
        self.started += 1;
        let name = format!("replica-{}", self.started);
        let arguments = ["--name", &name, "--log-level", "off"];
        let started = Replica::start(&self.program, &name, &arguments, self.kubeconfig.path());
        let (replica, [said]) = started.await?;
        ensure!(said == "running\n", "{name} does not run: it says {said:?}");
        self.replicas.push(replica);
        Ok(())
    }
}
