//! Tests of the task warm-up.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright::testing::{TestCluster, eventually};

use super::cluster;

/// Returns the time of the last run.
async fn last_run(cluster: &TestCluster) -> Option<String> {
    let config_map: ConfigMap = cluster.get("guard-warm-up").await?;
    config_map.data?.remove("last-run")
}

#[tokio::test]
async fn it_runs_when_the_program_starts() {
    let cluster = cluster().await;
    eventually("a run", async || last_run(&cluster).await).await;
}
