//! The condition `Available` of APIServices.

use kubewright_apiserver::ApiServer;
use kubewright_apiserver::admission::{Chain, ServiceTable};
use serde_json::json;

use super::extension::{CATS, Extension, Manner, NAME, ROOT, service};
use super::{API_SERVICES, SERVICES, becomes, with_extension};
use crate::cluster::Cluster;

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

#[tokio::test]
async fn an_api_service_is_unavailable_until_its_service_is_there() {
    let cluster = Cluster::start();
    let extension = Extension::start(&cluster).await;
    let [service, registration] = extension.objects();
    let made = cluster.post(API_SERVICES, &registration).await.expect(201);
    assert_eq!(made["status"], json!({}));
    let condition = becomes(&cluster, NAME, "ServiceNotFound").await;
    assert_eq!(condition["status"], "False");
    assert_eq!(
        condition["message"],
        "service/zoo in \"default\" is not present"
    );
    let answer = cluster.get(CATS).await;
    assert_eq!(answer.code, 503);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(&*answer.text, b"service unavailable\n");

    cluster.post(SERVICES, &service).await.expect(201);
    let condition = becomes(&cluster, NAME, "Passed").await;
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["message"], "all checks passed");
    cluster.get(CATS).await.expect(200);

    cluster.delete(&format!("{SERVICES}/zoo")).await.expect(200);
    becomes(&cluster, NAME, "ServiceNotFound").await;
}

#[tokio::test]
async fn a_service_of_the_cluster_needs_the_port_and_a_ready_endpoint_of_it() {
    let cluster = Cluster::start();
    let extension = Extension::start(&cluster).await;
    let port = extension.address.port();
    let other = if port == 80 { 81 } else { 80 };
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "zoo"},
        "spec": {"ports": [{"name": "https", "port": other}]},
    });
    cluster.post(SERVICES, &service).await.expect(201);
    let registration = extension.registration("zoo");
    cluster.post(API_SERVICES, &registration).await.expect(201);
    let condition = becomes(&cluster, NAME, "ServicePortError").await;
    let expected = format!("service/zoo in \"default\" is not listening on port {port}");
    assert_eq!(condition["message"], expected);

    service["spec"]["ports"][0]["port"] = port.into();
    let ports = json!({"spec": {"ports": service["spec"]["ports"]}});
    let path = format!("{SERVICES}/zoo");
    cluster.patch("merge", &path, &ports).await.expect(200);
    let condition = becomes(&cluster, NAME, "EndpointsNotFound").await;
    let expected = "cannot find endpointslices for service/zoo in \"default\"";
    assert_eq!(condition["message"], expected);

    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "zoo", "labels": {"kubernetes.io/service-name": "zoo"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": false}}],
        "ports": [{"name": "https", "port": 8443}],
    });
    cluster.post(SLICES, &slice).await.expect(201);
    let condition = becomes(&cluster, NAME, "MissingEndpoints").await;
    let expected =
        "endpointslices for service/zoo in \"default\" have no addresses with port name \"https\"";
    assert_eq!(condition["message"], expected);

    // The endpoint is ready, but not on this machine.
    let ready = json!({"endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": true}}]});
    let path = format!("{SLICES}/zoo");
    cluster.patch("merge", &path, &ready).await.expect(200);
    becomes(&cluster, NAME, "FailedDiscoveryCheck").await;
}

#[tokio::test]
async fn a_server_that_goes_away_makes_its_api_service_unavailable() {
    let (cluster, extension) = with_extension().await;
    let url = format!("https://localhost:{}{ROOT}", extension.address.port());
    drop(extension);
    // The next request is answered from what is known; the check that a change starts finds it out.
    let touched = json!({"metadata": {"labels": {"touched": "yes"}}});
    let path = format!("{SERVICES}/zoo");
    cluster.patch("merge", &path, &touched).await.expect(200);
    let condition = becomes(&cluster, NAME, "FailedDiscoveryCheck").await;
    let message = condition["message"].as_str().unwrap();
    let expected = format!("failing or missing response from {url}: Get \"{url}\": dial tcp ");
    assert!(message.starts_with(&expected), "{message}");
    assert!(
        message.ends_with(": connect: connection refused"),
        "{message}"
    );
    assert_eq!(&*cluster.get(CATS).await.text, b"service unavailable\n");
}

#[tokio::test]
async fn a_server_that_never_answers_holds_up_no_other() {
    let cluster = Cluster::start();
    let silent = Extension::start_as(&cluster, Manner::Silent, None).await;
    let mut registration = silent.registration("silent");
    registration["metadata"]["name"] = "v1.silent.example.com".into();
    registration["spec"]["group"] = "silent.example.com".into();
    cluster.post(SERVICES, &service("silent")).await.expect(201);
    cluster.post(API_SERVICES, &registration).await.expect(201);

    let extension = Extension::start(&cluster).await;
    super::register(&cluster, &extension).await;
    cluster.get(CATS).await.expect(200);
    let path = format!("{API_SERVICES}/v1.silent.example.com");
    let silent = cluster.get(&path).await.expect(200);
    assert_eq!(silent["status"], json!({}), "it is still being checked");
    let answer = cluster.get("/apis/silent.example.com/v1/cats").await;
    assert_eq!(&*answer.text, b"service unavailable\n");
}

#[tokio::test]
async fn the_table_of_services_says_where_a_service_is_that_the_cluster_lacks() {
    let table = ServiceTable::new();
    let chain = Chain::builder().services(table.clone());
    let cluster = Cluster::of(ApiServer::builder().admission(chain).start());
    let extension = Extension::start(&cluster).await;
    let registration = extension.registration("zoo");
    cluster.post(API_SERVICES, &registration).await.expect(201);
    becomes(&cluster, NAME, "ServiceNotFound").await;
    table.set(
        "default",
        "zoo",
        extension.address.port(),
        extension.address,
    );
    becomes(&cluster, NAME, "Passed").await;
    cluster.get(CATS).await.expect(200);
}

#[tokio::test]
async fn what_is_served_here_is_available_from_the_start() {
    let cluster = Cluster::start();
    let local = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v2.apps"},
        "spec": {"group": "apps", "version": "v2", "groupPriorityMinimum": 1, "versionPriority": 1},
    });
    let made = cluster.post(API_SERVICES, &local).await.expect(201);
    let condition = &made["status"]["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"]),
        (&json!("True"), &json!("Local"))
    );
}
