//! Claims that name no StorageClass.

use serde_json::{Value, json};

use super::asked;

fn claim(metadata: &Value, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec,
    })
}

async fn stored(claim: Value) -> Value {
    let request = json!({
        "kind": {"group": "", "version": "v1", "kind": "PersistentVolumeClaim"},
        "resource": {"group": "", "version": "v1", "resource": "persistentvolumeclaims"},
        "object": claim,
    });
    asked(
        &["--default-storage-class", "fast"],
        "/default-storage-class",
        request,
    )
    .await
    .stored(claim)
}

#[tokio::test]
async fn a_claim_that_names_no_class_gets_the_default() {
    let spec =
        json!({"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]});
    let stored = stored(claim(&json!({"name": "data"}), &spec)).await;
    let mut expected = claim(&json!({"name": "data"}), &spec);
    expected["spec"]["storageClassName"] = json!("fast");
    assert_eq!(stored, expected);
}

#[tokio::test]
async fn a_claim_that_names_a_class_keeps_it() {
    let named = claim(
        &json!({"name": "data"}),
        &json!({"storageClassName": "slow"}),
    );
    assert_eq!(stored(named.clone()).await, named);
}

#[tokio::test]
async fn a_claim_that_wants_no_class_gets_none() {
    let none = claim(&json!({"name": "data"}), &json!({"storageClassName": ""}));
    assert_eq!(stored(none.clone()).await, none);
}

#[tokio::test]
async fn the_old_annotation_names_a_class_too() {
    let metadata = json!({
        "name": "data", "annotations": {"volume.beta.kubernetes.io/storage-class": "slow"},
    });
    let named = claim(&metadata, &json!({"volumeName": "disk"}));
    assert_eq!(stored(named.clone()).await, named);
}
