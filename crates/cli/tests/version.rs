//! `kubewright version`.

use serde_json::{Value, json};

use crate::cluster::World;

#[tokio::test]
async fn the_version_of_kubernetes_is_the_one_that_the_embedded_server_reports() {
    let world = World::new().await;
    let served = world.client().apiserver_version().await.unwrap();
    let command = env!("CARGO_PKG_VERSION");

    let text = world.run(&["version"]).await;
    assert_eq!(text.code, Some(0), "{}", text.err);
    let first_lines = [
        format!("kubewright {command}"),
        format!("Kubernetes {} (embedded API server)", served.git_version),
    ];
    assert_eq!(text.out.lines().collect::<Vec<_>>(), first_lines);

    let json = world.run(&["version", "--output", "json"]).await;
    let read: Value = serde_json::from_str(&json.out).unwrap();
    let expected = json!({ "kubewright": command, "kubernetes": served.git_version });
    assert_eq!(read, expected);
}
