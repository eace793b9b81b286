//! Tests of the program against an API server in the test process.

mod cleaner_controller;
mod cluster_config_maps_controller;
mod deployment_patrols_controller;
mod fleet_controller;
mod servers_controller;
mod white_list_controller;
mod white_list_patrols_controller;

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
