//! Tests of ours.
#![allow(clippy::unwrap_used)]

mod pod_webhook;

use kubewright::testing::TestCluster;

async fn cluster() -> TestCluster { TestCluster::builder().app(guard::app).start().await }
