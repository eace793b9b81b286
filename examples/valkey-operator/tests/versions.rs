//! The two versions of a Valkey.

use kubewright::prelude::converting;
use kubewright::testing::{RoundTrips, TestCluster};
use serde_json::json;
use valkey_operator::api::{v1, v1alpha1};

use super::setting::program;

#[test]
fn nothing_is_lost_between_the_versions() {
    RoundTrips::of(converting::<v1::Valkey>().spoke::<v1alpha1::Valkey>())
        .values("spec.version", ["8.0", "8.1"])
        .values("spec.storage.size", ["1Gi", "512Mi"])
        .values("spec.disk", ["1Gi", "512Mi"])
        .check();
}

#[tokio::test]
async fn what_was_written_in_one_version_is_read_in_the_other() {
    let cluster = TestCluster::builder()
        .on(kubewright::testing::Server::Embedded)
        .app(program)
        .start()
        .await;
    let old = json!({
        "apiVersion": "valkey.example.com/v1alpha1", "kind": "Valkey", "metadata": {"name": "cache"},
        "spec": {"version": "8.0", "size": 3, "disk": "5Gi", "rotatePasswordEveryDays": 30},
    });
    let old: v1alpha1::Valkey = serde_json::from_value(old).unwrap();
    cluster.create(&old).await.expect_allowed();
    let new: v1::Valkey = cluster.get("cache").await.unwrap();
    assert_eq!((new.spec.replicas, &*new.spec.storage.size), (3, "5Gi"));
    assert_eq!(new.spec.password.rotate_every_days, Some(30));
    let patch = json!({"spec": {"replicas": 2}});
    cluster
        .merge::<v1::Valkey>("cache", &patch)
        .await
        .expect_allowed();
    let old: v1alpha1::Valkey = cluster.get("cache").await.unwrap();
    assert_eq!((old.spec.size, &*old.spec.disk), (2, "5Gi"));
    // The rules hold for both versions.
    let patch = json!({"spec": {"disk": "6Gi"}});
    let denied = cluster
        .merge::<v1alpha1::Valkey>("cache", &patch)
        .await
        .expect_denied();
    assert_eq!(denied.by(), "changes.valkey.example.com");
}
