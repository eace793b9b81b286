//! GET and LIST (spec section C.6).

use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};
use tokio::time::Duration;

use crate::cluster::{Cluster, map, pod};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn with_maps(count: usize) -> Cluster {
    let cluster = Cluster::start();
    for n in 0..count {
        cluster.post(MAPS, &map(&format!("m{n}"))).await.expect(201);
    }
    cluster
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_empty_list_has_no_null_items() {
    let cluster = Cluster::start();
    let list = cluster.get("/apis/apps/v1/deployments").await.expect(200);
    assert_eq!(list["kind"], "DeploymentList");
    assert_eq!(list["apiVersion"], "apps/v1");
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn pages_show_the_state_of_the_first_page() {
    let cluster = with_maps(5).await;
    let first = cluster.get(&format!("{MAPS}?limit=2")).await.expect(200);
    assert_eq!(names(&first), ["m0", "m1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    let revision = first["metadata"]["resourceVersion"].clone();

    cluster.delete(&format!("{MAPS}/m2")).await.expect(200);
    cluster.post(MAPS, &map("m3a")).await.expect(201);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = cluster
        .get(&format!("{MAPS}?limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&second), ["m2", "m3"]);
    assert_eq!(second["metadata"]["resourceVersion"], revision);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let last = cluster
        .get(&format!("{MAPS}?limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&last), ["m4"]);
    assert!(last["metadata"].get("continue").is_none());
    assert!(last["metadata"].get("remainingItemCount").is_none());
}

#[tokio::test]
async fn an_expired_page_offers_an_inconsistent_rest() {
    let cluster = with_maps(3).await;
    let first = cluster.get(&format!("{MAPS}?limit=1")).await.expect(200);
    cluster.post(MAPS, &map("m1a")).await.expect(201);
    cluster.server.compact();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let status = cluster
        .get(&format!("{MAPS}?limit=1&continue={token}"))
        .await
        .expect(410);
    assert_eq!(status["reason"], "Expired");
    assert!(status["message"].as_str().unwrap().starts_with(
        "The provided continue parameter is too old to display a consistent list result."
    ));
    let token = status["metadata"]["continue"].as_str().unwrap();
    let rest = cluster
        .get(&format!("{MAPS}?continue={token}"))
        .await
        .expect(200);
    assert_eq!(names(&rest), ["m1", "m1a", "m2"]);
}

#[tokio::test]
async fn no_count_of_the_rest_behind_a_selector() {
    let cluster = with_maps(4).await;
    let page = cluster
        .get(&format!("{MAPS}?limit=1&labelSelector=!x"))
        .await
        .expect(200);
    assert!(page["metadata"]["continue"].is_string());
    assert!(page["metadata"].get("remainingItemCount").is_none());
}

#[tokio::test]
async fn revisions_say_which_state_a_list_shows() {
    let cluster = with_maps(2).await;
    let then = cluster.get(MAPS).await.expect(200);
    let revision = then["metadata"]["resourceVersion"].as_str().unwrap();
    cluster.post(MAPS, &map("later")).await.expect(201);
    let list = async |query: String| cluster.get(&format!("{MAPS}?{query}")).await.expect(200);
    let exact = list(format!(
        "resourceVersion={revision}&resourceVersionMatch=Exact"
    ))
    .await;
    assert_eq!(exact, then);
    let legacy = list(format!("resourceVersion={revision}&limit=10")).await;
    assert_eq!(legacy, then);
    let newer = list(format!("resourceVersion={revision}")).await;
    assert_eq!(names(&newer), ["later", "m0", "m1"]);
    let newer = list(format!(
        "resourceVersion={revision}&resourceVersionMatch=NotOlderThan&limit=10"
    ))
    .await;
    assert_eq!(names(&newer), ["later", "m0", "m1"]);

    cluster.server.compact();
    let path = format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    let message = cluster.get(&path).await.refused(410, "Expired");
    assert_eq!(
        message,
        "The resourceVersion for the provided list is too old."
    );
}

#[tokio::test]
async fn a_revision_of_the_future_times_out() {
    let cluster = with_maps(1).await;
    let now = cluster.get(MAPS).await.expect(200)["metadata"]["resourceVersion"].clone();
    for path in [
        format!("{MAPS}?resourceVersion=9999"),
        format!("{MAPS}/m0?resourceVersion=9999"),
    ] {
        let answer = cluster.get(&path).await;
        assert_eq!(answer.header("retry-after"), "1");
        let status = answer.expect(504);
        assert_eq!(
            status["message"],
            format!(
                "Timeout: Too large resource version: 9999, current: {}",
                now.as_str().unwrap()
            ),
        );
        assert_eq!(
            status["details"],
            json!({
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            })
        );
    }
}

#[tokio::test]
async fn options_that_mean_nothing_are_refused() {
    let cluster = with_maps(1).await;
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Miwic3RhcnQiOiJhIn0";
    for (query, code, message) in [
        (
            "resourceVersion=abc".to_owned(),
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: \
             parsing \"abc\": invalid syntax",
        ),
        (
            format!("continue={token}&resourceVersion=5"),
            400,
            "specifying resource version is not allowed when using continue",
        ),
        (
            "resourceVersionMatch=Exact".to_owned(),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
             resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersion=0&resourceVersionMatch=Exact".to_owned(),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
             resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            "resourceVersion=1&resourceVersionMatch=x".to_owned(),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \
             \"x\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
        ),
        (
            "sendInitialEvents=true".to_owned(),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: \
             sendInitialEvents is forbidden for list",
        ),
        (
            "timeout=abc".to_owned(),
            400,
            "invalid timeout specified in the request URL - time: invalid duration \"abc\"",
        ),
    ] {
        let status = cluster.get(&format!("{MAPS}?{query}")).await.expect(code);
        assert_eq!(status["message"], message, "{query}");
    }
}

#[tokio::test]
async fn label_selectors_choose_objects() {
    let cluster = Cluster::start();
    for (name, tier) in [("a", "web"), ("b", "db"), ("c", "")] {
        let mut object = map(name);
        if !tier.is_empty() {
            object["metadata"]["labels"] = json!({"tier": tier});
        }
        cluster.post(MAPS, &object).await.expect(201);
    }
    for (selector, expected) in [
        ("tier%3Dweb", vec!["a"]),
        ("tier!=web", vec!["b", "c"]),
        ("tier+in+(web,db)", vec!["a", "b"]),
        ("tier notin (web)", vec!["b", "c"]),
        ("tier", vec!["a", "b"]),
        ("!tier", vec!["c"]),
    ] {
        let selector = selector.replace(' ', "%20");
        let list = cluster
            .get(&format!("{MAPS}?labelSelector={selector}"))
            .await
            .expect(200);
        assert_eq!(names(&list), expected, "{selector}");
    }
    let message = cluster
        .get(&format!("{MAPS}?labelSelector=a=("))
        .await
        .refused(400, "BadRequest");
    assert!(
        message.starts_with("unable to parse requirement: "),
        "{message}"
    );
}

#[tokio::test]
async fn field_selectors_choose_objects() {
    let cluster = with_maps(3).await;
    let pods = "/api/v1/namespaces/default/pods";
    for (name, node) in [("p1", "n1"), ("p2", "n2")] {
        let mut object = pod(name);
        object["spec"]["nodeName"] = node.into();
        cluster.post(pods, &object).await.expect(201);
    }
    for (path, expected) in [
        (format!("{MAPS}?fieldSelector=metadata.name=m1"), vec!["m1"]),
        (
            format!("{MAPS}?fieldSelector=metadata.name!=m1"),
            vec!["m0", "m2"],
        ),
        (format!("{pods}?fieldSelector=spec.nodeName=n2"), vec!["p2"]),
        (
            "/api/v1/pods?fieldSelector=metadata.namespace=default,status.phase=Pending".to_owned(),
            vec!["p1", "p2"],
        ),
    ] {
        assert_eq!(
            names(&cluster.get(&path).await.expect(200)),
            expected,
            "{path}"
        );
    }
    for (path, message) in [
        (
            format!("{MAPS}?fieldSelector=data.k=v"),
            "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        (
            format!("{pods}?fieldSelector=spec.foo=v"),
            "field label not supported: spec.foo",
        ),
    ] {
        assert_eq!(cluster.get(&path).await.refused(400, "BadRequest"), message);
    }
}

#[tokio::test]
async fn the_oldest_changes_are_forgotten_first() {
    let cluster = Cluster::of(ApiServer::builder().watch_history(2).start());
    cluster.post(MAPS, &map("a")).await.expect(201);
    let first = cluster
        .get(&format!("{MAPS}?resourceVersion=0"))
        .await
        .expect(200);
    for name in ["b", "c", "d"] {
        cluster.post(MAPS, &map(name)).await.expect(201);
    }
    let revision = first["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    let _ = cluster.get(&path).await.refused(410, "Expired");
}

#[tokio::test]
async fn events_are_the_same_objects_in_both_groups() {
    let cluster = Cluster::start();
    let event = json!({
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Tested", "message": "hello", "type": "Normal",
    });
    cluster
        .post("/api/v1/namespaces/default/events", &event)
        .await
        .expect(201);
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let seen = cluster.get(&format!("{path}/e")).await.expect(200);
    assert_eq!(seen["apiVersion"], "events.k8s.io/v1");
    assert_eq!(seen["note"], "hello");
    assert_eq!(seen["regarding"]["name"], "p");
    let list = cluster.get(path).await.expect(200);
    assert_eq!(list["items"][0]["note"], "hello");
}

#[tokio::test]
async fn a_page_behind_a_selector_may_turn_out_to_be_empty() {
    let cluster = Cluster::start();
    for (name, label) in [("a", "1"), ("b", "1"), ("c", "2")] {
        let mut object = map(name);
        object["metadata"]["labels"] = json!({"x": label});
        cluster.post(MAPS, &object).await.expect(201);
    }
    let selected = format!("{MAPS}?labelSelector=x%3D1");
    let first = cluster
        .get(&format!("{selected}&limit=2"))
        .await
        .expect(200);
    assert_eq!(first["items"].as_array().map(Vec::len), Some(2));
    let token = first["metadata"]["continue"].as_str().unwrap();
    let next = cluster
        .get(&format!("{selected}&limit=2&continue={token}"))
        .await
        .expect(200);
    assert_eq!(next["items"], json!([]));
    assert_eq!(next["metadata"]["continue"], Value::Null);
    let whole = cluster
        .get(&format!("{selected}&limit=3"))
        .await
        .expect(200);
    assert_eq!(whole["metadata"]["continue"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn pages_and_watches_expire_with_the_history_and_not_before() {
    const MINUTE: Duration = Duration::from_mins(1);
    let builder = ApiServer::builder().compaction_interval(5 * MINUTE);
    let cluster = Cluster::of(builder.start());
    let mut versions = Vec::new();
    for name in ["a", "b", "c"] {
        let made = cluster.post(MAPS, &map(name)).await.expect(201);
        versions.push(
            made["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    let first = cluster.get(&format!("{MAPS}?limit=1")).await.expect(200);
    let token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    let page = format!("{MAPS}?limit=1&continue={token}");
    let old = format!("{MAPS}?watch=true&resourceVersion={}", versions[0]);
    let last = format!("{MAPS}?watch=true&resourceVersion={}", versions[2]);
    cluster.post(MAPS, &map("d")).await.expect(201);

    tokio::time::sleep(4 * MINUTE).await;
    cluster.get(&page).await.expect(200);
    assert_eq!(cluster.watch(&old).await.next_named().await.1, "b");

    tokio::time::sleep(7 * MINUTE).await;
    let message = cluster.get(&page).await.refused(410, "Expired");
    assert!(
        message.starts_with("The provided continue parameter is too old"),
        "{message}"
    );
    for watched in [&old, &last] {
        let event = cluster.watch(watched).await.next().await.unwrap();
        assert_eq!(event["object"]["code"], 410, "{event}");
    }
    let now = cluster.get(MAPS).await.expect(200);
    assert_eq!(now["items"].as_array().map(Vec::len), Some(4));
}
