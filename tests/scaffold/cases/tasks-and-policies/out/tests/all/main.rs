//! Tests of the program against an API server in the test process.

mod cleanup_task;
mod nightly_task;
mod pod_webhook;
mod team_labels_policy;
mod tickets_policy;
mod warm_up_task;
mod white_lists_policy;

use std::path::Path;

use guard::app;
use kubewright::Program;
use kubewright::testing::TestCluster;

/// Starts a cluster with the program, which has the permissions of its handles and no others.
async fn cluster() -> TestCluster {
    TestCluster::builder()
        .definitions("crds")
        .app(app)
        .start()
        .await
}

#[tokio::test]
async fn the_program_starts() {
    cluster().await;
}

#[test]
fn the_manifests_are_valid_and_up_to_date() {
    let deployment = Program::new(app).deployment().unwrap();
    // `kubewright manifests` generates the folder. From then on this test compares it with the code.
    if Path::new("deploy").exists() {
        deployment.tree().check("deploy").unwrap();
    }
}
