//! Paths, methods, content types and headers (spec sections C.1 and C.9).

use http::Method;
use serde_json::json;

use crate::cluster::{Cluster, map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn paths_that_do_not_exist_are_told_apart() {
    let cluster = Cluster::start();
    for path in [
        "/api/v1/foos",
        "/apis/apps/v1/foos",
        "/api/v9/pods",
        "/apis/apps/v9/deployments",
        "/api/v1/namespaces/a/nodes",
    ] {
        let status = cluster.get(path).await.expect(404);
        assert_eq!(
            status["message"], "the server could not find the requested resource",
            "{path}"
        );
        assert_eq!(status["details"], json!({}));
    }
    for path in ["/apis/nope/v1/foos", "/nope"] {
        let answer = cluster.get(path).await;
        assert_eq!(answer.code, 404, "{path}");
        assert_eq!(&answer.text[..], b"404 page not found\n");
        assert!(answer.header("content-type").starts_with("text/plain"));
    }
}

#[tokio::test]
async fn methods_that_a_path_does_not_have_are_refused() {
    let cluster = Cluster::start();
    for (method, path) in [
        (Method::PUT, MAPS.to_owned()),
        (Method::POST, format!("{MAPS}/x")),
        (Method::POST, "/api/v1/configmaps".to_owned()),
        (Method::DELETE, "/api/v1/namespaces".to_owned()),
        (
            Method::GET,
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned(),
        ),
        (Method::OPTIONS, format!("{MAPS}/x")),
    ] {
        let message = cluster
            .send(method, &path, &[], "{}")
            .await
            .refused(405, "MethodNotAllowed");
        assert_eq!(
            message,
            "the server does not allow this method on the requested resource"
        );
    }
}

#[tokio::test]
async fn yaml_is_read_and_written() {
    let cluster = Cluster::start();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  k: \"1\"\n";
    let headers = [
        ("content-type", "application/yaml"),
        ("accept", "application/yaml"),
    ];
    let answer = cluster.send(Method::POST, MAPS, &headers, yaml).await;
    assert_eq!(answer.code, 201);
    assert_eq!(answer.header("content-type"), "application/yaml");
    let text = String::from_utf8(answer.text.to_vec()).unwrap();
    assert!(text.contains("kind: ConfigMap\n"), "{text}");
    assert!(text.contains("k: \"1\"\n"), "{text}");
}

#[tokio::test]
async fn unknown_content_types_are_refused() {
    let cluster = Cluster::start();
    let headers = [("content-type", "text/plain")];
    let message = cluster
        .send(Method::POST, MAPS, &headers, "x")
        .await
        .refused(415, "UnsupportedMediaType");
    assert!(
        message.contains("application/json, application/yaml, application/vnd.kubernetes.protobuf")
    );
    let answer = cluster.get_as(MAPS, "text/html").await;
    let message = answer.refused(406, "NotAcceptable");
    assert!(
        message.starts_with("406: Not Acceptable\n\nAvailable representations: application/json")
    );
}

#[tokio::test]
async fn answers_are_pretty_for_people() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    let compact = cluster.get(&format!("{MAPS}/x")).await;
    assert!(compact.text.ends_with(b"}\n"));
    assert_eq!(str::from_utf8(&compact.text).unwrap().lines().count(), 1);
    let pretty = cluster.get(&format!("{MAPS}/x?pretty=true")).await;
    assert!(pretty.text.starts_with(b"{\n  \""));
    assert_eq!(pretty.json(), compact.json());
    let headers = [("user-agent", "curl/8.0")];
    let curl = cluster
        .send(Method::GET, &format!("{MAPS}/x"), &headers, "")
        .await;
    assert_eq!(curl.text, pretty.text);
}

#[tokio::test]
async fn every_answer_has_an_audit_id_and_is_not_cached() {
    let cluster = Cluster::start();
    for path in [MAPS.to_owned(), format!("{MAPS}/none")] {
        let answer = cluster.get(&path).await;
        assert_eq!(answer.header("audit-id").len(), 36);
        assert_eq!(answer.header("cache-control"), "no-cache, private");
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn health_and_version_are_answered() {
    let cluster = Cluster::start();
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        let answer = cluster.get(path).await;
        assert_eq!((answer.code.as_u16(), &answer.text[..]), (200, &b"ok"[..]));
    }
    let verbose = cluster.get("/readyz?verbose").await;
    assert!(verbose.text.ends_with(b"readyz check passed\n"));
    let version = cluster.get("/version").await.expect(200);
    assert_eq!(
        (&version["major"], &version["minor"]),
        (&json!("1"), &json!("37"))
    );
    assert_eq!(version["gitVersion"], "v1.37.2");
}
