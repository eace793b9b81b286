//! WATCH (spec section C.7).

use serde_json::json;

use crate::cluster::{Cluster, map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_watch_tells_of_every_change() {
    let cluster = Cluster::start();
    let mut watch = cluster.watch(&format!("{MAPS}?watch=true")).await;
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    let event = watch.next().await.unwrap();
    assert_eq!(event, json!({"type": "ADDED", "object": made}));
    let path = format!("{MAPS}/x");
    let patched = cluster
        .patch("merge", &path, &json!({"data": {"a": "1"}}))
        .await
        .expect(200);
    cluster.delete(&path).await.expect(200);
    assert_eq!(
        watch.next().await.unwrap(),
        json!({"type": "MODIFIED", "object": patched})
    );
    let gone = watch.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["data"], patched["data"]);
    let revision = |object: &serde_json::Value| -> u64 {
        object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert_eq!(revision(&gone["object"]), revision(&patched) + 1);
}

#[tokio::test]
async fn a_watch_without_a_revision_begins_with_what_is_there() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let mut watch = cluster.watch(&format!("{MAPS}?{query}")).await;
        assert_eq!(watch.next_named().await, ("ADDED".into(), "x".into()));
    }
}

#[tokio::test]
async fn a_watch_goes_on_after_its_revision() {
    let cluster = Cluster::start();
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    cluster.post(MAPS, &map("y")).await.expect(201);
    let revision = made["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = cluster
        .watch(&format!("{MAPS}?watch=1&resourceVersion={revision}"))
        .await;
    assert_eq!(watch.next_named().await, ("ADDED".into(), "y".into()));
}

#[tokio::test]
async fn a_revision_that_is_forgotten_is_an_error_event() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    let made = cluster.post(MAPS, &map("y")).await.expect(201);
    cluster.server.compact();
    let mut watch = cluster
        .watch(&format!("{MAPS}?watch=1&resourceVersion=2"))
        .await;
    let event = watch.next().await.unwrap();
    assert_eq!(event["type"], "ERROR");
    let oldest = made["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(
        event["object"],
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": format!("too old resource version: 2 ({oldest})"),
            "reason": "Expired", "code": 410,
        })
    );
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn objects_come_and_go_with_the_selector() {
    let cluster = Cluster::start();
    let query = "watch=1&labelSelector=on=yes";
    let mut watch = cluster.watch(&format!("{MAPS}?{query}")).await;
    let path = format!("{MAPS}/x");
    cluster.post(MAPS, &map("never")).await.expect(201);
    cluster.post(MAPS, &map("x")).await.expect(201);
    let label = |on: &str| json!({"metadata": {"labels": {"on": on}}});
    cluster
        .patch("merge", &path, &label("yes"))
        .await
        .expect(200);
    cluster
        .patch("merge", &path, &json!({"data": {"a": "1"}}))
        .await
        .expect(200);
    let off = cluster
        .patch("merge", &path, &label("no"))
        .await
        .expect(200);
    cluster.delete(&path).await.expect(200);
    cluster.post(MAPS, &map("x")).await.expect(201);
    cluster
        .patch("merge", &path, &label("yes"))
        .await
        .expect(200);
    cluster.delete(&path).await.expect(200);

    assert_eq!(watch.next_named().await, ("ADDED".into(), "x".into()));
    assert_eq!(watch.next_named().await, ("MODIFIED".into(), "x".into()));
    let left = watch.next().await.unwrap();
    assert_eq!(left["type"], "DELETED");
    assert_eq!(left["object"]["metadata"]["labels"]["on"], "yes");
    assert_eq!(
        left["object"]["metadata"]["resourceVersion"],
        off["metadata"]["resourceVersion"]
    );
    assert_eq!(watch.next_named().await, ("ADDED".into(), "x".into()));
    assert_eq!(watch.next_named().await, ("DELETED".into(), "x".into()));
}

#[tokio::test]
async fn a_watch_of_one_name_sees_that_one() {
    let cluster = Cluster::start();
    let mut watch = cluster
        .watch(&format!("{MAPS}?watch=1&fieldSelector=metadata.name=b"))
        .await;
    for name in ["a", "b"] {
        cluster.post(MAPS, &map(name)).await.expect(201);
    }
    assert_eq!(watch.next_named().await.1, "b");
    let mut old_style = cluster
        .watch("/api/v1/watch/namespaces/default/configmaps/b")
        .await;
    assert_eq!(old_style.next_named().await.1, "b");
}

#[tokio::test]
async fn a_streaming_list_ends_with_a_bookmark() {
    let cluster = Cluster::start();
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    let query =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = cluster.watch(&format!("{MAPS}?{query}")).await;
    assert_eq!(watch.next_named().await, ("ADDED".into(), "x".into()));
    let bookmark = watch.next().await.unwrap();
    assert_eq!(
        bookmark,
        json!({"type": "BOOKMARK", "object": {
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {
                "resourceVersion": made["metadata"]["resourceVersion"],
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        }})
    );
    cluster.post(MAPS, &map("y")).await.expect(201);
    assert_eq!(watch.next_named().await, ("ADDED".into(), "y".into()));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute_and_at_the_end() {
    let cluster = Cluster::start();
    let query = "watch=1&resourceVersion=1000000&allowWatchBookmarks=true&timeoutSeconds=90";
    let query = query.replace("1000000", "5");
    let mut watch = cluster.watch(&format!("{MAPS}?{query}")).await;
    let begin = tokio::time::Instant::now();
    assert_eq!(watch.next_named().await.0, "BOOKMARK");
    assert_eq!((tokio::time::Instant::now() - begin).as_secs(), 60);
    let secret = json!({"metadata": {"name": "other"}});
    let made = cluster
        .post("/api/v1/namespaces/default/secrets", &secret)
        .await
        .expect(201);
    let last = watch.next().await.unwrap();
    assert_eq!(last["type"], "BOOKMARK");
    let revision = &last["object"]["metadata"]["resourceVersion"];
    assert_eq!(*revision, made["metadata"]["resourceVersion"]);
    assert!(watch.next().await.is_none());
    assert_eq!((tokio::time::Instant::now() - begin).as_secs(), 90);
}

#[tokio::test]
async fn a_stopped_server_ends_its_watches() {
    let cluster = Cluster::start();
    let mut watch = cluster.watch(&format!("{MAPS}?watch=1")).await;
    cluster.server.stop();
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn options_that_mean_nothing_are_refused() {
    let cluster = Cluster::start();
    for (query, message) in [
        (
            "sendInitialEvents=true",
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting \
             resourceVersionMatch to NotOlderThan",
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless \
             sendInitialEvents is provided",
        ),
    ] {
        let status = cluster
            .get(&format!("{MAPS}?watch=1&{query}"))
            .await
            .expect(422);
        assert_eq!(
            status["message"],
            format!("ListOptions.meta.k8s.io \"\" is invalid: {message}"),
        );
    }
}

#[tokio::test]
async fn a_watch_can_show_tables_and_metadata() {
    let cluster = Cluster::start();
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut tables = cluster.watch_as(&format!("{MAPS}?watch=1"), table).await;
    let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let mut metadata = cluster.watch_as(&format!("{MAPS}?watch=1"), partial).await;
    for name in ["x", "y"] {
        cluster.post(MAPS, &map(name)).await.expect(201);
    }
    let first = tables.next().await.unwrap();
    assert_eq!(first["object"]["kind"], "Table");
    assert_eq!(first["object"]["rows"][0]["cells"][0], "x");
    assert!(first["object"]["columnDefinitions"].is_array());
    let second = tables.next().await.unwrap();
    assert_eq!(second["object"]["rows"][0]["cells"][0], "y");
    assert!(second["object"]["columnDefinitions"].is_null());
    let event = metadata.next().await.unwrap();
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert!(event["object"].get("data").is_none());
}

#[tokio::test]
async fn a_thousand_watchers_share_one_encoding() {
    let cluster = Cluster::start();
    let mut watches = Vec::new();
    for _ in 0..1000 {
        watches.push(cluster.watch(&format!("{MAPS}?watch=1")).await);
    }
    cluster.post(MAPS, &map("x")).await.expect(201);
    let mut places = std::collections::HashSet::new();
    for watch in &mut watches {
        let line = watch.line().await.unwrap();
        places.insert(line.as_ptr());
    }
    assert_eq!(places.len(), 1);
}

#[tokio::test]
async fn an_event_is_encoded_once_for_all_watches_that_ask_alike() {
    let cluster = Cluster::start();
    let path = "/api/v1/namespaces/default/configmaps";
    let watched = format!("{path}?watch=true");
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    for accept in [
        "application/json",
        "application/vnd.kubernetes.protobuf",
        metadata,
    ] {
        let mut first = cluster.watch_as(&watched, accept).await;
        let mut second = cluster.watch_as(&watched, accept).await;
        let name = format!("x{}", accept.len());
        cluster.post(path, &map(&name)).await.expect(201);
        let lines = loop {
            let lines = (first.line().await.unwrap(), second.line().await.unwrap());
            if lines
                .0
                .windows(name.len())
                .any(|part| part == name.as_bytes())
            {
                break lines;
            }
        };
        assert_eq!(lines.0, lines.1);
        assert_eq!(
            lines.0.as_ptr(),
            lines.1.as_ptr(),
            "{accept}: the bytes are shared"
        );
    }
}
