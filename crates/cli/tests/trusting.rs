//! `kubewright certs csr` and `inject`, on an embedded API server.

use std::fs;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kubewright_certificates::Authority;
use kubewright_testing::{apply, eventually};
use rcgen::{CertificateSigningRequestParams, Issuer, KeyPair};
use serde_json::{Value, json};
use x509_parser::pem::parse_x509_pem;

use crate::cluster::World;

const CSR: [&str; 5] = [
    "certs",
    "csr",
    "hook.blue.svc",
    "--signer",
    "example.com/hooks",
];

/// Signs the first request that is approved.
async fn sign_one(client: Client, authority: Authority) -> String {
    let requests: Api<CertificateSigningRequest> = Api::all(client);
    let request = eventually("an approved request", async || {
        let list = requests.list(&ListParams::default()).await.ok()?;
        let approved = |request: &CertificateSigningRequest| {
            let conditions = request
                .status
                .as_ref()
                .and_then(|status| status.conditions.as_ref());
            conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Approved"))
        };
        list.items.into_iter().find(approved)
    })
    .await;
    let asked = String::from_utf8(request.spec.request.0).expect("a good request");
    let asked = CertificateSigningRequestParams::from_pem(&asked).expect("a good request");
    let key = KeyPair::from_pem(&authority.key_pem()).expect("a good request");
    let issuer =
        Issuer::from_ca_cert_pem(&authority.certificate_pem(), key).expect("a good request");
    let certificate = asked.signed_by(&issuer).expect("a good request").pem();
    let bytes = k8s_openapi::ByteString(certificate.clone().into_bytes());
    let patch = Patch::Merge(json!({"status": {"certificate": bytes}}));
    let name = request.metadata.name.expect("a good request");
    requests
        .patch_status(&name, &PatchParams::default(), &patch)
        .await
        .expect("a good request");
    certificate
}

#[tokio::test]
async fn a_signer_of_the_cluster_signs_for_a_key_that_stays_here() {
    let world = World::new().await;
    let authority = Authority::new("the cluster").unwrap();
    let arguments = [&CSR[..], &["10.0.0.1", "--approve"]].concat();
    let (ran, signed) = tokio::join!(world.run(&arguments), sign_one(world.client(), authority));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "certificates/tls.crt\ncertificates/tls.key\n");
    let certificate = fs::read_to_string(world.path("certificates/tls.crt")).unwrap();
    assert_eq!(certificate, signed);
    let (_, pem) = parse_x509_pem(certificate.as_bytes()).unwrap();
    let parsed = pem.parse_x509().unwrap();
    assert_eq!(parsed.subject().to_string(), "CN=hook.blue.svc");
    let names = parsed.subject_alternative_name().unwrap().unwrap();
    assert_eq!(names.value.general_names.len(), 2);
    let requests: Api<CertificateSigningRequest> = Api::all(world.client());
    let request = requests
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .remove(0);
    assert_eq!(request.spec.signer_name, "example.com/hooks");
    assert!(!String::from_utf8_lossy(&request.spec.request.0).contains("PRIVATE"));

    let again = world.run(&CSR).await;
    assert_eq!(again.code, Some(1));
    assert!(
        again
            .err
            .starts_with("error: certificates/tls.crt exists already\nhint: "),
        "{}",
        again.err
    );
}

#[tokio::test]
async fn without_a_signer_or_an_approval_it_says_so_and_writes_nothing() {
    let world = World::new().await;
    let ran = world
        .run(&[&CSR[..], &["--approve", "--timeout", "0"]].concat())
        .await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(
        ran.err
            .contains("is approved, but example.com/hooks has not signed it within 0 s"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("the embedded server has none"),
        "{}",
        ran.err
    );
    let ran = world.run(&[&CSR[..], &["--timeout", "0"]].concat()).await;
    assert!(
        ran.err.contains("waiting for the approval of kubewright-"),
        "{}",
        ran.err
    );
    assert!(!world.path("certificates").exists());
}

#[tokio::test]
async fn a_signer_of_the_control_plane_is_not_waited_for_where_there_is_none() {
    let world = World::new().await;
    let arguments = [
        "certs",
        "csr",
        "hook.blue.svc",
        "--signer",
        "kubernetes.io/kube-apiserver-client",
    ];
    let ran = world.run(&arguments).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    let why = "error: the embedded API server has no signer kubernetes.io/kube-apiserver-client";
    assert!(ran.err.contains(why), "{}", ran.err);
    assert!(
        ran.err
            .contains("hint: make a certificate here with `kubewright certs`"),
        "{}",
        ran.err
    );
    let requests: Api<CertificateSigningRequest> = Api::all(world.client());
    let left = requests.list(&ListParams::default()).await.unwrap();
    assert!(left.items.is_empty());
}

#[tokio::test]
async fn a_request_that_is_denied_is_not_waited_for() {
    let world = World::new().await;
    let requests: Api<CertificateSigningRequest> = Api::all(world.client());
    let denied = eventually("a request to deny", async || {
        let list = requests.list(&ListParams::default()).await.ok()?;
        let name = list.items.into_iter().next()?.metadata.name?;
        let denial =
            json!({"type": "Denied", "status": "True", "reason": "No", "message": "not today"});
        let patch = Patch::Merge(json!({"status": {"conditions": [denial]}}));
        let params = PatchParams::default();
        requests.patch_approval(&name, &params, &patch).await.ok()
    });
    let (ran, _) = tokio::join!(world.run(&CSR), denied);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("was denied: not today"), "{}", ran.err);
}

#[tokio::test]
async fn trust_is_written_everywhere_it_is_looked_for_and_once() {
    let world = World::new().await;
    let client = world.client();
    for object in [
        webhooks("ValidatingWebhookConfiguration"),
        webhooks("MutatingWebhookConfiguration"),
        definition(),
    ] {
        apply(&client, "default", &object).await.unwrap();
    }
    let authority = Authority::new("ours").unwrap();
    // What else is in the file stays here.
    fs::write(
        world.path("ca.pem"),
        authority.key_pem() + &authority.certificate_pem(),
    )
    .unwrap();
    let all = [
        "certs",
        "inject",
        "validatingwebhookconfiguration/hooks",
        "mutatingwebhookconfigurations/hooks",
        "crd/gardens.example.com",
        "--ca-file",
        "ca.pem",
    ];
    let ran = world.run(&all).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.out,
        "ValidatingWebhookConfiguration hooks changed\nMutatingWebhookConfiguration hooks changed\n\
         CustomResourceDefinition gardens.example.com changed\n"
    );
    let bundle = authority.trust().to_ca_bundle();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks";
    let hooks = read(&client, path).await;
    assert_eq!(hooks["webhooks"][0]["clientConfig"]["caBundle"], bundle);
    assert_eq!(hooks["webhooks"][1]["clientConfig"]["caBundle"], bundle);
    assert_eq!(
        hooks["webhooks"][1]["clientConfig"]["url"], "https://localhost:1/two",
        "nothing else is changed"
    );
    let definition = read(
        &client,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gardens.example.com",
    )
    .await;
    assert_eq!(
        definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
        bundle
    );

    let again = world.run(&[&all[..], &["--output", "json"]].concat()).await;
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert!(
        again
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["became"] == "unchanged"),
        "{again}"
    );
    let version = &hooks["metadata"]["resourceVersion"];
    assert_eq!(
        read(&client, path).await["metadata"]["resourceVersion"],
        *version
    );

    // While authorities change, both are trusted; in the end, one.
    let next = Authority::new("next").unwrap();
    fs::write(world.path("next.pem"), next.certificate_pem()).unwrap();
    let inject = [
        "certs",
        "inject",
        "validatingwebhookconfiguration/hooks",
        "--ca-file",
        "next.pem",
    ];
    let ran = world.run(&[&inject[..], &["--add"]].concat()).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let both = authority.trust().and(&next.trust()).to_ca_bundle();
    assert_eq!(
        read(&client, path).await["webhooks"][0]["clientConfig"]["caBundle"],
        both
    );
    world.run(&inject).await;
    assert_eq!(
        read(&client, path).await["webhooks"][0]["clientConfig"]["caBundle"],
        next.trust().to_ca_bundle()
    );
}

#[tokio::test]
async fn what_cannot_trust_or_be_trusted_is_named() {
    let world = World::new().await;
    fs::write(
        world.path("ca.pem"),
        Authority::new("ours").unwrap().certificate_pem(),
    )
    .unwrap();
    fs::write(world.path("none.pem"), "no certificate").unwrap();
    for (target, file, code, why) in [
        (
            "crd/gardens.example.com",
            "ca.pem",
            1,
            "error: there is no CustomResourceDefinition gardens.example.com\nhint: ",
        ),
        (
            "crd/gardens.example.com",
            "none.pem",
            1,
            "error: none.pem has nothing to trust: ",
        ),
        (
            "crd/gardens.example.com",
            "absent.pem",
            1,
            "error: cannot read absent.pem: ",
        ),
        (
            "pod/one",
            "ca.pem",
            2,
            "it has to be validatingwebhookconfiguration/NAME",
        ),
        (
            "crd/",
            "ca.pem",
            2,
            "it has to be validatingwebhookconfiguration/NAME",
        ),
    ] {
        let ran = world
            .run(&["certs", "inject", target, "--ca-file", file])
            .await;
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
    let mut plain = definition();
    plain["spec"].as_object_mut().unwrap().remove("conversion");
    apply(&world.client(), "default", &plain).await.unwrap();
    let ran = world
        .run(&[
            "certs",
            "inject",
            "crd/gardens.example.com",
            "--ca-file",
            "ca.pem",
        ])
        .await;
    assert!(
        ran.err
            .contains("has no client configuration for a caBundle"),
        "{}",
        ran.err
    );
}

async fn read(client: &Client, path: &str) -> Value {
    let request = http::Request::get(path)
        .body(Vec::new())
        .expect("a request");
    client.request(request).await.expect("an object")
}

fn webhooks(kind: &str) -> Value {
    let webhook = |name: &str| {
        json!({
            "name": format!("{name}.hooks.example.com"),
            "clientConfig": {"url": format!("https://localhost:1/{name}")},
            "rules": [],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "hooks"},
        "webhooks": [webhook("one"), webhook("two")],
    })
}

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Garden", "plural": "gardens", "singular": "garden"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "https://localhost:1/convert"},
                    "conversionReviewVersions": ["v1"],
                },
            },
        },
    })
}
