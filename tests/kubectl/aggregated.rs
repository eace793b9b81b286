//! An aggregated API: another embedded API server that serves custom resources behind the first one.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apiserver::{ApiServer, Listening, SecureServing};
use kubewright_certificates::Authority;

use crate::change::deleted;
use crate::session::{Session, with_each_kubectl};

const DEFINITION: &str = r#"{
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "cats.zoo.example.com"},
    "spec": {
        "group": "zoo.example.com", "scope": "Namespaced", "names": {"plural": "cats", "kind": "Cat"},
        "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
        }]
    }
}"#;

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: zoo}
spec: {type: ExternalName, externalName: localhost}
";

const CAT: &str = "\
apiVersion: zoo.example.com/v1
kind: Cat
metadata: {name: tom}
";

/// Starts a server of cats that accepts the front proxy of a person's cluster, and returns its authority as base64.
async fn zoo(person: &Session) -> (Listening, String) {
    const DAY: Duration = Duration::from_hours(24);
    let read = "get configmap -n kube-system extension-apiserver-authentication -o \
                jsonpath={.data.requestheader-client-ca-file}";
    let front_proxy = person.run(read).await.out;
    let authority = Authority::living_for("zoo", DAY).unwrap();
    let issued = authority.sign_server(["zoo.default.svc"], DAY).unwrap();
    let serving = SecureServing::default()
        .certificate(issued.certificate_pem(), issued.key_pem())
        .unwrap()
        .client_ca(front_proxy)
        .unwrap();
    let server = ApiServer::start();
    let listening = server.listen_with(([127, 0, 0, 1], 0), serving).await;
    let listening = listening.unwrap();
    let client = kube::Client::new(server.service(), "default");
    let definition = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        .header("content-type", "application/json")
        .body(DEFINITION.as_bytes().to_vec())
        .unwrap();
    client.request_text(definition).await.unwrap();
    let bundle = STANDARD.encode(authority.certificate_pem());
    (listening, bundle)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregated_resource_is_handled_like_any_other() {
    with_each_kubectl(async |person| {
        let (zoo, bundle) = zoo(person).await;
        let registration = format!(
            "apiVersion: apiregistration.k8s.io/v1\n\
             kind: APIService\n\
             metadata: {{name: v1.zoo.example.com}}\n\
             spec:\n  \
               group: zoo.example.com\n  \
               version: v1\n  \
               groupPriorityMinimum: 1000\n  \
               versionPriority: 10\n  \
               service: {{namespace: default, name: zoo, port: {}}}\n  \
               caBundle: {bundle}\n",
            zoo.local_addr().port()
        );
        person.file("service.yaml", SERVICE);
        person.file("registration.yaml", &registration);
        person.file("cat.yaml", CAT);
        person
            .prints("create -f service.yaml", "service/zoo created")
            .await;
        person
            .prints(
                "create -f registration.yaml",
                "apiservice.apiregistration.k8s.io/v1.zoo.example.com created",
            )
            .await;
        person
            .prints(
                "wait apiservice/v1.zoo.example.com --for=condition=Available",
                "apiservice.apiregistration.k8s.io/v1.zoo.example.com condition met",
            )
            .await;
        person
            .prints(
                "create -f cat.yaml --validate=false",
                "cat.zoo.example.com/tom created",
            )
            .await;
        person.prints("get cats", "NAME   AGE\ntom    <age>").await;
        person
            .prints(
                "delete cat tom",
                &deleted(person.minor(), "cat.zoo.example.com \"tom\""),
            )
            .await;
        person
            .prints(
                "delete apiservice v1.zoo.example.com",
                "apiservice.apiregistration.k8s.io \"v1.zoo.example.com\" deleted",
            )
            .await;
    })
    .await;
}
