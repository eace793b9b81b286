//! Tests of ours.
#![allow(clippy::unwrap_used)]

mod pod_webhook;
mod white_list_controller;
mod white_list_webhook;

use kubewright::testing::TestCluster;

async fn cluster() -> TestCluster { TestCluster::builder().app(guard::app).start().await }
