//! What an aggregated API server sees of a request, and the client of its answer.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc::unbounded_channel;
use tower::ServiceExt as _;

use super::extension::{CATS, Extension, Manner, NAME, ROOT, service};
use super::{API_SERVICES, SERVICES, becomes, register, with_extension};
use crate::cluster::Cluster;

#[tokio::test]
async fn the_service_learns_who_the_user_is_and_none_of_the_credentials() {
    let (cluster, extension) = with_extension().await;
    let listening = cluster.server.listen(([127, 0, 0, 1], 0)).await.unwrap();
    let bearer = format!("Bearer {}", listening.token());
    let headers = [
        ("authorization", &*bearer),
        ("impersonate-user", "jane"),
        ("impersonate-group", "dev"),
        ("impersonate-extra-scopes", "view"),
        ("x-remote-user", "system:admin"),
        ("x-remote-group", "system:masters"),
        ("x-remote-extra-scopes", "all"),
        ("accept", "application/json"),
        ("audit-id", "request-1"),
    ];
    let path = format!("{CATS}?limit=5");
    let answer = cluster.send(Method::GET, &path, &headers, "").await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.expect(200)["kind"], "CatList");

    let seen = extension.seen();
    assert_eq!(seen.len(), 1);
    let seen = &seen[0];
    assert_eq!((&seen.method, &*seen.uri), (&Method::GET, &*path));
    assert_eq!(seen.client, "front-proxy-client");
    let all = |name: &str| -> Vec<&str> {
        let values = seen.headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect()
    };
    assert_eq!(all("x-remote-user"), ["jane"]);
    assert_eq!(all("x-remote-group"), ["dev", "system:authenticated"]);
    assert_eq!(all("x-remote-extra-scopes"), ["view"]);
    assert_eq!(all("accept"), ["application/json"]);
    assert_eq!(all("audit-id"), ["request-1"]);
    for name in seen.headers.keys() {
        let name = name.as_str();
        assert!(
            name != "authorization" && !name.starts_with("impersonate-"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn who_may_not_send_a_request_is_refused_before_the_service_sees_it() {
    let cluster = Cluster::of(ApiServer::builder().rbac().start());
    let extension = Extension::start(&cluster).await;
    register(&cluster, &extension).await;
    let jane = [("impersonate-user", "jane")];
    let answer = cluster.send(Method::GET, CATS, &jane, "").await;
    let message = answer.refused(403, "Forbidden");
    assert_eq!(
        message,
        "cats.zoo.example.com is forbidden: User \"jane\" cannot list resource \"cats\" in API group \
         \"zoo.example.com\" in the namespace \"default\""
    );
    assert!(extension.seen().is_empty());
}

#[tokio::test]
async fn events_of_a_watch_arrive_while_it_goes_on() {
    let cluster = Cluster::start();
    let (lines, receiver) = unbounded_channel();
    let extension = Extension::start_as(&cluster, Manner::Plain, Some(receiver)).await;
    register(&cluster, &extension).await;
    let mut watch = cluster.watch(&format!("{CATS}?watch=true")).await;
    for name in ["tom", "kitty"] {
        let event = json!({"type": "ADDED", "object": {"metadata": {"name": name}}});
        lines.send(Bytes::from(format!("{event}\n"))).unwrap();
        assert_eq!(
            watch.next_named().await,
            ("ADDED".to_owned(), name.to_owned())
        );
    }
    cluster.server.stop();
    assert!(
        watch.next().await.is_none(),
        "the watch ends with the server"
    );
}

#[tokio::test]
async fn a_body_is_passed_on_whatever_its_size() {
    let (cluster, extension) = with_extension().await;
    // Larger than an object of this server may be.
    let parts: Vec<Bytes> = (0..4_u8)
        .map(|at| Bytes::from(vec![b'a' + at; 1 << 20]))
        .collect();
    let frames = parts
        .clone()
        .into_iter()
        .map(|part| Ok::<_, std::convert::Infallible>(Frame::data(part)));
    let body = StreamBody::new(futures::stream::iter(frames));
    let request = Request::post(CATS).body(body).unwrap();
    let answer = cluster.server.service().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    let answer = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(
        answer == parts.concat(),
        "the service answers with the body"
    );
    assert!(extension.seen()[0].body == answer);
}

#[tokio::test]
async fn a_connection_is_upgraded_through_to_the_service() {
    let (cluster, _extension) = with_extension().await;
    let listening = cluster.server.listen(([127, 0, 0, 1], 0)).await.unwrap();
    let mut stream = crate::secure::connect(&listening, &[b"http/1.1"]).await;
    let request = format!(
        "GET {CATS}/tom/exec HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: Upgrade\r\n\
         upgrade: echo\r\n\r\n",
        listening.token()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("\r\nupgrade: echo\r\n"), "{head}");
    stream.write_all(b"abcd").await.unwrap();
    let mut word = [0; 4];
    stream.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"dcba");
}

#[tokio::test]
async fn a_server_that_cannot_prove_what_it_is_gets_no_request_of_a_user() {
    let (cluster, extension) = with_extension().await;
    let other = Extension::start(&cluster).await;
    let path = format!("{API_SERVICES}/{NAME}");
    let patch = json!({"spec": {"caBundle": other.ca_bundle}});
    cluster.patch("merge", &path, &patch).await.expect(200);
    let answer = cluster.get(CATS).await;
    assert_eq!(answer.code, 503);
    let text = String::from_utf8(answer.text.to_vec()).unwrap();
    let expected = "error trying to reach service: tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert!(text.starts_with(expected), "{text}");
    assert!(extension.seen().is_empty());

    let trusting = json!({"spec": {"caBundle": null, "insecureSkipTLSVerify": true}});
    cluster.patch("merge", &path, &trusting).await.expect(200);
    cluster.get(CATS).await.expect(200);
    assert_eq!(extension.seen().len(), 1);
}

#[tokio::test]
async fn requests_follow_the_changes_of_an_api_service() {
    let (cluster, first) = with_extension().await;
    let second = Extension::start(&cluster).await;
    let mut moved = second.registration("zoo");
    let path = format!("{API_SERVICES}/{NAME}");
    let stored = cluster.get(&path).await.expect(200);
    moved["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
    cluster.put(&path, &moved).await.expect(200);
    cluster.get(CATS).await.expect(200);
    assert_eq!((first.seen().len(), second.seen().len()), (0, 1));

    cluster.delete(&path).await.expect(200);
    let answer = cluster.get(CATS).await;
    assert_eq!(answer.code, 404);
    assert_eq!(&*answer.text, b"404 page not found\n");
    assert_eq!(second.seen().len(), 1);
}

#[tokio::test]
async fn a_version_of_the_server_may_be_handed_over_and_taken_back() {
    let cluster = Cluster::start();
    let extension = Extension::start(&cluster).await;
    cluster.post(SERVICES, &service("zoo")).await.expect(201);
    let path = format!("{API_SERVICES}/v1.apps");
    let registration = extension.registration("zoo");
    let spec = json!({"service": registration["spec"]["service"], "caBundle": extension.ca_bundle});
    cluster
        .patch("merge", &path, &json!({"spec": spec}))
        .await
        .expect(200);
    // The server has no such group, so that the check fails.
    becomes(&cluster, "v1.apps", "FailedDiscoveryCheck").await;
    let answer = cluster.get("/apis/apps/v1/deployments").await;
    assert_eq!(&*answer.text, b"service unavailable\n");
    let back = json!({"spec": {"service": null, "caBundle": null}});
    cluster.patch("merge", &path, &back).await.expect(200);
    becomes(&cluster, "v1.apps", "Local").await;
    let list: Value = cluster.get("/apis/apps/v1/deployments").await.expect(200);
    assert_eq!(list["kind"], "DeploymentList");
}

#[tokio::test]
async fn a_dry_run_registers_nothing() {
    let cluster = Cluster::start();
    let extension = Extension::start(&cluster).await;
    let path = format!("{API_SERVICES}?dryRun=All");
    cluster
        .post(&path, &extension.registration("zoo"))
        .await
        .expect(201);
    assert_eq!(cluster.get(ROOT).await.code, 404);
}
