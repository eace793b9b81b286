//! Namespaces in which only some users may create objects.

use serde_json::json;

use super::{Answer, asked};

async fn created(user: &str, namespace: &str) -> Answer {
    let arguments = [
        "--reserved-namespaces",
        "billing,secrets",
        "--reserved-for",
        "alice",
    ];
    let request = json!({
        "userInfo": {"username": user}, "namespace": namespace,
        "kind": {"group": "example.com", "version": "v1", "kind": "Invoice"},
        "resource": {"group": "example.com", "version": "v1", "resource": "invoices"},
        "object": {
            "apiVersion": "example.com/v1", "kind": "Invoice", "metadata": {"name": "first"},
            "spec": {"anything": [1, 2]},
        },
    });
    asked(&arguments, "/reserved-namespaces", request).await
}

#[tokio::test]
async fn objects_in_a_reserved_namespace_are_denied_to_all_but_listed_users() {
    let sentence = "namespace `billing` is reserved: `bob` cannot create objects in it";
    assert_eq!(created("bob", "billing").await.denial(), (403, sentence));
    assert!(!created("", "secrets").await.allowed());
    assert!(created("alice", "billing").await.allowed());
}

#[tokio::test]
async fn other_namespaces_are_free() {
    assert!(created("bob", "default").await.allowed());
}
