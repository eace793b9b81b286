//! Watches.

use serde_json::json;

use crate::cluster::Cluster;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_watch_tells_of_every_change() {
    let cluster = Cluster::start();
    let mut watch = cluster.watch(&format!("{MAPS}?watch=true")).await;
    let map = json!({"metadata": {"name": "x"}});
    let made = cluster.post(MAPS, &map).await.expect(201);
    let event = watch.next().await.unwrap();
    assert_eq!(event, json!({"type": "ADDED", "object": made}));
    let path = format!("{MAPS}/x");
    let patch = json!({"data": {"a": "1"}});
    let _ = cluster.patch("merge", &path, &patch).await.expect(200);
    let _ = cluster.delete(&path).await.expect(200);
    assert_eq!(
        watch.next_named().await,
        ("MODIFIED".to_owned(), "x".to_owned())
    );
    assert_eq!(
        watch.next_named().await,
        ("DELETED".to_owned(), "x".to_owned())
    );
}
