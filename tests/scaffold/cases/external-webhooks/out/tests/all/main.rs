//! The program beside an API server of its own, in the process of the tests.

mod ticket_webhook;

use std::path::Path;

use guard::app;
use kubewright::Program;
use kubewright::testing::TestCluster;

/// A cluster with the program, which may do what it asks for and nothing else.
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
fn it_can_be_installed_and_what_installs_it_is_current() {
    let deployment = Program::new(app).deployment().unwrap();
    // `kubewright manifests` writes the folder. From then on it is held to the code.
    if Path::new("deploy").exists() {
        deployment.tree().check("deploy").unwrap();
    }
}
