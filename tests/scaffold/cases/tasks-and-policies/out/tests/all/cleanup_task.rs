//! Tests of the task cleanup.

use std::time::Duration;

use guard::tasks::cleanup;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use kubewright::testing::{Server, TestCluster, eventually};

use super::cluster;

/// Returns the time of the last run.
async fn last_run(cluster: &TestCluster) -> Option<String> {
    let config_map: ConfigMap = cluster.get("guard-cleanup").await?;
    config_map.data?.remove("last-run")
}

#[tokio::test]
async fn it_runs_when_the_program_starts() {
    let cluster = cluster().await;
    eventually("a run", async || last_run(&cluster).await).await;
}

/// The task alone, so that nothing else happens while its time passes.
fn app(needs: &mut Needs) -> App {
    App::new("guard").task(cleanup::task(needs))
}

/// Under a paused clock time passes at once when everything waits, and the time of day with it.
#[tokio::test(start_paused = true)]
async fn it_runs_again_after_its_period() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .app(app)
        .start()
        .await;
    let first = eventually("a run", async || last_run(&cluster).await).await;
    tokio::time::sleep(Duration::from_mins(90)).await;
    eventually("another run", async || {
        last_run(&cluster).await.filter(|run| *run != first)
    })
    .await;
}
