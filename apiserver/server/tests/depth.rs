//! Deeply nested objects: refused on every path before they overflow a stack, and never stored deeper than they can be read.

use std::thread;

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;

const BOXES: &str = "/apis/deep.example.com/v1/boxes";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The deepest object that is accepted has this many levels below `spec`.
const DEEPEST: usize = 125;

fn nested(levels: usize) -> String {
    r#"{"a":"#.repeat(levels) + "1" + &"}".repeat(levels)
}

fn body(name: &str, levels: usize) -> String {
    let spec = nested(levels);
    format!(
        r#"{{"apiVersion": "deep.example.com/v1", "kind": "Box", "metadata": {{"name": "{name}"}}, "spec": {{"x": {spec}}}}}"#
    )
}

/// Runs a test on the stack that the test harness gives one.
fn on_a_test_thread(test: impl AsyncFnOnce(Cluster) + Send + 'static) {
    const STACK: usize = 2 << 20;
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let cluster = Cluster::start();
            let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let definition = json!({
                "metadata": {"name": "boxes.deep.example.com"},
                "spec": {
                    "group": "deep.example.com", "scope": "Cluster",
                    "names": {"plural": "boxes", "kind": "Box"},
                    "versions": [{
                        "name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything}}},
                    }],
                },
            });
            cluster.post(DEFINITIONS, &definition).await.expect(201);
            test(cluster).await;
        });
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(run);
    thread.unwrap().join().unwrap();
}

async fn send(
    cluster: &Cluster,
    method: Method,
    path: &str,
    kind: &str,
    body: String,
) -> (u16, Value) {
    let answer = cluster
        .send(method, path, &[("content-type", kind)], body)
        .await;
    // The answer may be nested too deeply for this reader.
    let body = serde_json::from_slice(&answer.text).unwrap_or_default();
    (answer.code.as_u16(), body)
}

#[test]
fn the_deepest_object_is_created_read_listed_changed_and_deleted() {
    on_a_test_thread(async |cluster| {
        for (name, kind) in [("j", "application/json"), ("y", "application/yaml")] {
            let (code, made) = send(&cluster, Method::POST, BOXES, kind, body(name, DEEPEST)).await;
            assert_eq!(code, 201, "{kind}: {made}");
        }
        let apply = "application/apply-patch+yaml";
        for code in [201, 200] {
            let path = format!("{BOXES}/a?fieldManager=m");
            let (answered, why) =
                send(&cluster, Method::PATCH, &path, apply, body("a", DEEPEST)).await;
            assert_eq!(answered, code, "{why}");
        }
        for name in ["j", "y", "a"] {
            let path = format!("{BOXES}/{name}");
            for accept in ["application/json", "application/yaml"] {
                assert_eq!(cluster.get_as(&path, accept).await.code, 200, "{accept}");
                assert_eq!(cluster.get_as(BOXES, accept).await.code, 200, "{accept}");
            }
            let labels = json!({"metadata": {"labels": {"x": "1"}}});
            assert_eq!(cluster.patch("merge", &path, &labels).await.code, 200);
            assert_eq!(cluster.delete(&path).await.code, 200);
        }
    });
}

#[test]
fn one_level_more_is_refused_in_the_decoders_words() {
    on_a_test_thread(async |cluster| {
        let json = "invalid character '{' exceeded max depth";
        let yaml = "yaml: exceeded max depth of 127";
        let apply = format!("{BOXES}/a?fieldManager=m");
        for levels in [DEEPEST + 1, 10_000] {
            for (method, path, kind, why) in [
                (Method::POST, BOXES, "application/json", json),
                (Method::POST, BOXES, "application/yaml", yaml),
                (Method::PATCH, &apply, "application/apply-patch+yaml", yaml),
            ] {
                let body = body("a", levels);
                let (code, status) = send(&cluster, method, path, kind, body).await;
                assert_eq!(code, 400, "{kind}: {status}");
                let message = status["message"].as_str().unwrap_or_default();
                assert!(message.contains(why), "{kind}: {message}");
            }
        }
    });
}

#[test]
fn no_json_patch_stores_more_levels_than_a_body_may_have() {
    on_a_test_thread(async |cluster| {
        let (code, _) = send(
            &cluster,
            Method::POST,
            BOXES,
            "application/json",
            body("a", 100),
        )
        .await;
        assert_eq!(code, 201);
        let deeper = format!("/spec/x{}", "/a".repeat(100));
        let value: Value = serde_json::from_str(&nested(100)).unwrap();
        let add = json!({"op": "add", "path": "/spec/y", "value": value});
        let path = format!("{BOXES}/a");
        for operations in [
            json!([{"op": "add", "path": deeper, "value": value}]),
            json!([{"op": "replace", "path": deeper, "value": value}]),
            json!([add, {"op": "move", "from": "/spec/y", "path": deeper}]),
            json!([add, {"op": "copy", "from": "/spec/y", "path": deeper}]),
        ] {
            cluster
                .patch("json", &path, &operations)
                .await
                .refused(422, "Invalid");
        }
        // What is stored can still be changed and deleted, and its definition, too.
        cluster
            .patch("merge", &path, &json!({"spec": {"z": 1}}))
            .await
            .expect(200);
        cluster.delete(&path).await.expect(200);
        let definition = format!("{DEFINITIONS}/boxes.deep.example.com");
        cluster.delete(&definition).await.expect(200);
        cluster.gone(&definition).await;
    });
}
