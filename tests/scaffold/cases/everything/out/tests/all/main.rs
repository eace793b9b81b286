//! Tests of the program against an API server in the test process.

mod config_map_controller;
mod deployment_controller;
mod harbor_controller;
mod harbor_webhook;
mod namespace_webhook;
mod pod_webhook;
mod team_labels_policy;
mod white_list_controller;
mod white_list_conversion;
mod white_list_webhook;

use std::path::Path;

use guard::app;
use kubewright::Program;
use kubewright::testing::TestCluster;

/// Starts a cluster with the program, which has the permissions of its handles and no others.
async fn cluster() -> TestCluster {
    TestCluster::builder().app(app).start().await
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
