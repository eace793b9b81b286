//! What validation refuses, as a client sees it (spec sections C.4, C.9 and E.2).

use serde_json::{Value, json};

use crate::cluster::{Cluster, deployment, map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a_bad_name_is_refused_with_its_rule() {
    let cluster = Cluster::start();
    let status = cluster.post(MAPS, &map("Bad_Name")).await.expect(422);
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(status["details"]["name"], "Bad_Name");
    assert_eq!(status["details"]["kind"], "ConfigMap");
    let cause = &status["details"]["causes"][0];
    assert_eq!(cause["reason"], "FieldValueInvalid");
    assert_eq!(cause["field"], "metadata.name");
    assert!(cause["message"].as_str().unwrap().starts_with(
        "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of"
    ));
}

#[tokio::test]
async fn an_invalid_object_is_refused_with_every_cause() {
    let cluster = Cluster::start();
    let bad = json!({"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a"}, {"name": "a", "image": "i"}]}});
    let status = cluster.post(PODS, &bad).await.expect(422);
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("Pod \"x\" is invalid: ["), "{message}");
    let fields: Vec<_> = status["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect();
    assert!(fields.contains(&"spec.containers[0].image"), "{fields:?}");
    assert!(fields.contains(&"spec.containers[1].name"), "{fields:?}");
}

#[tokio::test]
async fn a_name_is_required() {
    let cluster = Cluster::start();
    let message = cluster
        .post(MAPS, &json!({"metadata": {}}))
        .await
        .refused(422, "Invalid");
    assert_eq!(
        message,
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
}

#[tokio::test]
async fn no_finalizer_is_added_to_what_is_being_deleted() {
    let cluster = Cluster::start();
    let mut held = deployment("x");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(DEPLOYMENTS, &held).await.expect(201);
    let path = format!("{DEPLOYMENTS}/x");
    cluster.delete(&path).await.expect(200);
    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}});
    let message = cluster
        .patch("merge", &path, &more)
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains(
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
             deleted, found new finalizers []string{\"example.com/new\"}"
        ),
        "{message}"
    );
}

#[tokio::test]
async fn nothing_comes_into_the_store_that_would_have_no_effect_whatever_the_verb() {
    let cluster = Cluster::start();
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.x.example.com"},
        "spec": {
            "group": "x.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
            "service": {"name": "s", "namespace": "default"},
        },
    });
    no_effect(&cluster, API_SERVICES, &service).await;
}

/// Asserts that a create and an apply of an object answer 501, also as dry runs, and that it is not stored.
async fn no_effect(cluster: &Cluster, path: &str, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let own = format!("{path}/{name}");
    for dry_run in ["", "&dryRun=All"] {
        let create = format!("{path}?fieldManager=m{dry_run}");
        let apply = format!("{own}?fieldManager=m&force=true{dry_run}");
        let posted = cluster.post(&create, object).await;
        let headers = [("content-type", "application/apply-patch+yaml")];
        let applied = cluster
            .send(http::Method::PATCH, &apply, &headers, object.to_string())
            .await;
        for answer in [posted, applied] {
            let message = answer.refused(501, "NotImplemented");
            assert!(message.starts_with("this server does not "), "{message}");
        }
    }
    cluster.put(&own, object).await.refused(404, "NotFound");
    cluster.get(&own).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_local_api_service_is_not_made_to_name_a_service() {
    let cluster = Cluster::start();
    let path = format!("{API_SERVICES}/v1.apps");
    let local = cluster.get(&path).await.expect(200);
    let labelled = json!({"metadata": {"labels": {"x": "y"}}});
    cluster.patch("merge", &path, &labelled).await.expect(200);
    let service = json!({"name": "s", "namespace": "default", "port": 443});
    let mut remote = local.clone();
    remote["spec"]["service"] = service.clone();
    remote["metadata"]["resourceVersion"] = Value::Null;
    let patch = json!({"spec": {"service": service}});
    let operations = json!([{"op": "add", "path": "/spec/service", "value": service}]);
    let applied = json!({"apiVersion": local["apiVersion"], "kind": "APIService", "metadata": {"name": "v1.apps"}, "spec": patch["spec"]});
    let headers = [("content-type", "application/apply-patch+yaml")];
    for dry_run in ["", "&dryRun=All"] {
        let own = format!("{path}?fieldManager=m{dry_run}");
        let forced = format!("{own}&force=true");
        for answer in [
            cluster.put(&own, &remote).await,
            cluster.patch("merge", &own, &patch).await,
            cluster.patch("json", &own, &operations).await,
            cluster
                .send(http::Method::PATCH, &forced, &headers, applied.to_string())
                .await,
        ] {
            let message = answer.refused(501, "NotImplemented");
            assert_eq!(
                message,
                "this server does not forward requests to other API servers"
            );
        }
    }
    let now = cluster.get(&path).await.expect(200);
    assert_eq!(now["spec"], local["spec"]);
}

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
