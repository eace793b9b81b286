//! A.2.6, A.2.7 and corrections 7 and 8: connections, bindings, evictions, tokens, and pods that go in two steps.

use serde_json::{Value, json};

use super::operations::{shown, watched};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    })
}

#[tokio::test]
async fn a2_6_a_connection_shows_its_options_and_is_then_refused() {
    let table = [
        (
            "exec",
            "?command=ls&stdin=true",
            "PodExecOptions",
            json!({"command": ["ls"], "stdin": true}),
        ),
        (
            "attach",
            "?stdout=true",
            "PodAttachOptions",
            json!({"stdout": true}),
        ),
        (
            "portforward",
            "?ports=80",
            "PodPortForwardOptions",
            json!({"ports": [80]}),
        ),
        ("proxy", "", "PodProxyOptions", json!({})),
    ];
    for (name, query, kind, members) in table {
        let (cluster, hook) = watched(&[&format!("pods/{name}")]).await;
        cluster.post(PODS, &pod("a")).await.ok();
        let answer = cluster
            .post(&format!("{PODS}/a/{name}{query}"), &Value::Null)
            .await;
        assert_eq!(answer.code, 400, "{name}: {answer:?}");
        let (mutating, validating) = shown(&hook);
        assert_eq!((mutating.len(), validating.len()), (1, 1), "{name}");
        let request = &mutating[0];
        assert_eq!(request["operation"], "CONNECT", "{name}");
        assert_eq!(
            (&request["name"], &request["subResource"]),
            (&json!("a"), &json!(name))
        );
        assert_eq!(
            request["kind"],
            json!({"group": "", "version": "v1", "kind": kind})
        );
        assert_eq!(request["resource"]["resource"], "pods", "{name}");
        assert_eq!(
            (&request["oldObject"], &request["options"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(request["dryRun"], false, "{name}");
        assert_eq!(request["object"]["kind"], kind);
        for (key, value) in members.as_object().unwrap() {
            assert_eq!(&request["object"][key], value, "{name}");
        }
    }
}

#[tokio::test]
async fn a2_6_a_connection_cannot_be_tried_dry() {
    let (cluster, hook) = watched(&["pods/exec"]).await;
    cluster.post(PODS, &pod("a")).await.ok();
    let answer = cluster
        .post(
            &format!("{PODS}/a/exec?command=ls&dryRun=All"),
            &Value::Null,
        )
        .await;
    assert_eq!(answer.code, 400, "{answer:?}");
    assert_eq!(answer.json()["message"], "dryRun is not supported");
    assert_eq!(hook.received().len(), 0);
}

#[tokio::test]
async fn a2_7_a_binding_is_a_create_of_a_binding() {
    let (cluster, hook) = watched(&["pods/binding"]).await;
    cluster.post(PODS, &pod("a")).await.ok();
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", "namespace": "default"},
        "target": {"kind": "Node", "name": "n1"},
    });
    cluster
        .post(&format!("{PODS}/a/binding"), &binding)
        .await
        .ok();
    let (mutating, _) = shown(&hook);
    assert_eq!(mutating.len(), 1);
    let request = &mutating[0];
    assert_eq!(
        (&request["operation"], &request["subResource"]),
        (&json!("CREATE"), &json!("binding"))
    );
    assert_eq!(request["object"]["target"]["name"], "n1");
    assert_eq!(request["oldObject"], Value::Null);
    assert_eq!(request["options"]["kind"], "CreateOptions");
}

#[tokio::test]
async fn a2_7_correction_7_an_eviction_is_one_create_and_no_delete() {
    let (cluster, hook) = watched(&["pods", "pods/eviction"]).await;
    cluster.post(PODS, &pod("a")).await.ok();
    let before = shown(&hook).0.len();
    let eviction = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "a", "namespace": "default"},
    });
    cluster
        .post(&format!("{PODS}/a/eviction"), &eviction)
        .await
        .ok();
    let (mutating, _) = shown(&hook);
    let evictions: Vec<_> = mutating[before..]
        .iter()
        .map(|request| {
            (
                &request["operation"],
                &request["subResource"],
                &request["object"]["kind"],
            )
        })
        .collect();
    assert_eq!(
        evictions,
        [(&json!("CREATE"), &json!("eviction"), &json!("Eviction"))]
    );
}

#[tokio::test]
async fn a2_7_a_token_is_a_create_of_a_token_request() {
    let (cluster, hook) = watched(&["serviceaccounts/token"]).await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    cluster.post(accounts, &account).await.ok();
    let token =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    cluster
        .post(&format!("{accounts}/robot/token"), &token)
        .await
        .ok();
    let (mutating, _) = shown(&hook);
    assert_eq!(mutating.len(), 1);
    let request = &mutating[0];
    assert_eq!(
        request["kind"],
        json!({"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"})
    );
    assert_eq!(
        (&request["operation"], &request["name"]),
        (&json!("CREATE"), &json!("robot"))
    );
}

#[tokio::test]
async fn correction_8_an_unscheduled_pod_is_deleted_in_two_steps_of_one_request() {
    let (cluster, hook) = watched(&["pods"]).await;
    cluster.post(PODS, &pod("a")).await.ok();
    cluster.delete(&format!("{PODS}/a")).await.ok();
    let (mutating, validating) = shown(&hook);
    for calls in [mutating, validating] {
        let deletes: Vec<_> = calls
            .iter()
            .filter(|call| call["operation"] == "DELETE")
            .collect();
        // The real server makes two or three calls, depending on how fresh its cache is.
        assert!((2..=3).contains(&deletes.len()), "{} calls", deletes.len());
        let last = deletes.last().unwrap();
        assert!(last["oldObject"]["metadata"]["deletionTimestamp"].is_string());
        assert_eq!(last["options"]["gracePeriodSeconds"], 0);
        assert_eq!(
            deletes[0]["oldObject"]["metadata"].get("deletionTimestamp"),
            None
        );
    }
}
