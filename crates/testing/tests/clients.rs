//! A program that answers only the API server, which shows its certificate to admission webhooks.

use std::time::Duration;

use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::admission::{Chain, ClientCertificate};
use kubewright_certificates::{Authority, SelfSigned};
use kubewright_manager::{App, Program};
use kubewright_manifests::{Endpoint, Manifests};
use kubewright_server::ClientCheck;
use kubewright_webhook::{Change, Review, Validated, Webhooks, converting, validating};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::widgets::{v1, v2};

async fn allow(_: Change<ConfigMap>, _: Review) -> Validated {
    Ok(())
}

/// Runs a program that answers one client of an authority, and returns where it is and what leads to it.
pub(crate) async fn guarded(authority: &Authority, client: &str) -> (Endpoint, Manifests) {
    let webhooks = Webhooks::new("example.com")
        .with(validating("allow", allow))
        .with(converting::<v1::Widget>().spoke::<v2::Widget>());
    let check = ClientCheck::by_authorities(authority.trust()).named([client]);
    let serving = Program::new(|_| App::new("guarded").webhooks(webhooks))
        .clients(check)
        .bind(([127, 0, 0, 1], 0), SelfSigned::for_names(["127.0.0.1"]))
        .await
        .unwrap();
    let endpoint = Endpoint::url(&format!("https://{}", serving.local_addr())).unwrap();
    let manifests = serving.manifests(endpoint.clone()).unwrap();
    tokio::spawn(serving.run(std::future::pending()));
    (endpoint, manifests)
}

/// An API server that shows this certificate, if there is one, and calls a program that answers `kube-apiserver` alone.
async fn cluster(authority: &Authority, user: Option<&str>) -> ApiServer {
    let mut chain = Chain::builder();
    if let Some(user) = user {
        let day = Duration::from_hours(24);
        let issued = authority.sign_client(user, "system:masters", day).unwrap();
        let shown = ClientCertificate::from_pem(&issued.certificate_pem(), &issued.key_pem());
        chain = chain.client_certificate(shown.unwrap());
    }
    let server = ApiServer::builder().admission(chain).start();
    for object in Box::pin(guarded(authority, "kube-apiserver")).await.1 {
        let kind = object["kind"].as_str().unwrap();
        let path = match kind {
            "CustomResourceDefinition" => "apiextensions.k8s.io/v1/customresourcedefinitions",
            _ => "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        };
        let (status, answer) = send(&server, "POST", &format!("/apis/{path}"), &object).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
    }
    server
}

async fn send(server: &ApiServer, method: &str, path: &str, object: &Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(object.to_string())
        .unwrap();
    let answer = server.service().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = http_body_util::BodyExt::collect(answer.into_body());
    let body = body.await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

/// Creates a ConfigMap, and returns the status code and the message of the response.
async fn create(server: &ApiServer) -> (StatusCode, String) {
    let map = json!({"metadata": {"generateName": "map-"}});
    let path = "/api/v1/namespaces/default/configmaps";
    let (status, answer) = send(server, "POST", path, &map).await;
    let message = answer["message"].as_str().unwrap_or_default();
    (status, message.to_owned())
}

#[tokio::test]
async fn the_certificate_of_an_api_server_opens_the_door_and_no_other_does() {
    let authority = Authority::new("clients").unwrap();
    let known = cluster(&authority, Some("kube-apiserver")).await;
    assert_eq!(create(&known).await, (StatusCode::CREATED, String::new()));
    for (user, why) in [
        (None, "the client has shown no certificate"),
        (
            Some("jane"),
            r#"the client "jane" is not one of those that may call"#,
        ),
    ] {
        let (status, message) = create(&cluster(&authority, user).await).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(
            message,
            format!(
                r#"Internal error occurred: failed calling webhook "allow.example.com": failed to call webhook: {why}"#
            )
        );
    }
}

#[tokio::test]
async fn conversions_come_without_a_certificate_and_are_answered() {
    let authority = Authority::new("clients").unwrap();
    let server = cluster(&authority, Some("kube-apiserver")).await;
    let path = |version| format!("/apis/example.com/{version}/namespaces/default/widgets");
    let widget = json!({
        "apiVersion": "example.com/v2", "kind": "Widget",
        "metadata": {"name": "a"}, "spec": {"width": 3, "height": 4},
    });
    let (status, answer) = send(&server, "POST", &path("v2"), &widget).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let (_, read) = send(&server, "GET", &(path("v1") + "/a"), &Value::Null).await;
    assert_eq!(
        read["spec"]["area"],
        json!({"width": 3, "height": 4}),
        "{read}"
    );
}
