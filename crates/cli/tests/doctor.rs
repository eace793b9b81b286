//! `kubewright doctor`, on an embedded API server.

use std::time::Duration;

use kubewright_certificates::Authority;
use kubewright_testing::apply;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::cluster::World;
use crate::command::Ran;
use crate::place::acceptor;

impl World {
    async fn has(&self, objects: &[Value]) {
        let client = self.client();
        for object in objects {
            apply(&client, "default", object).await.expect("an object");
        }
    }

    async fn examine(&self, arguments: &[&str]) -> Ran {
        self.run(&[&["doctor"], arguments].concat()).await
    }

    /// The findings about one webhook, and the exit code.
    async fn findings(&self, webhook: &str) -> (Vec<String>, Option<i32>) {
        let ran = self.examine(&["--output", "json"]).await;
        let all: Value = serde_json::from_str(&ran.out).expect(&ran.err);
        let all = all.as_array().expect("a list").iter();
        let mut meant = all.filter(|one| one["webhook"] == format!("{webhook}.example.com"));
        let findings = &meant.next().expect("the webhook")["findings"];
        let told = |one: &Value| {
            format!(
                "{}: {}",
                one["weight"].as_str().expect("a word"),
                one["text"].as_str().expect("a text")
            )
        };
        (
            findings
                .as_array()
                .expect("a list")
                .iter()
                .map(told)
                .collect(),
            ran.code,
        )
    }
}

#[tokio::test]
async fn a_webhook_whose_service_answers_and_is_believed_is_good() {
    let (world, authority) = (World::new().await, Authority::new("ours").unwrap());
    let bundle = authority.trust().to_ca_bundle();
    world.has(&[namespace(), service(443), slice(true), configuration("one", json!({
        "clientConfig": {"service": {"namespace": "blue", "name": "hook"}, "caBundle": bundle},
        "rules": [rule("configmaps")],
    }))]).await;
    let ran = world.examine(&[]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.out,
        "one.example.com of ValidatingWebhookConfiguration one\n  good: the certificates in its caBundle are valid\n  \
         good: ready endpoints of the Service blue/hook: 1\n  good: its own program starts without it\n"
    );
    assert_eq!(world.examine(&["one"]).await.out, ran.out);
    let other = world.examine(&["two"]).await;
    assert_eq!((other.code, other.out.as_str()), (Some(1), ""));
    assert!(
        other
            .err
            .contains("no webhook is configured by the name of two"),
        "{}",
        other.err
    );
}

#[tokio::test]
async fn a_service_that_leads_nowhere_is_a_problem() {
    let world = World::new().await;
    let config = json!({"clientConfig": {"service": {"namespace": "blue", "name": "hook"}}, "rules": [rule("configmaps")]});
    world
        .has(&[namespace(), configuration("one", config)])
        .await;
    for (object, finding) in [
        (
            None,
            "problem: there is no Service blue/hook, so every call fails",
        ),
        (
            Some(service(8443)),
            "problem: the Service blue/hook has no port 443, so every call fails",
        ),
        (
            Some(service(443)),
            "doubt: the Service blue/hook has no EndpointSlice: its endpoints are unknown",
        ),
        (
            Some(slice(false)),
            "problem: the Service blue/hook has no ready endpoint, so every call fails",
        ),
        (
            Some(slice(true)),
            "good: ready endpoints of the Service blue/hook: 1",
        ),
    ] {
        world.has(object.as_slice()).await;
        let (findings, code) = world.findings("one").await;
        assert!(findings.contains(&finding.to_owned()), "{findings:#?}");
        assert_eq!(
            code,
            Some(i32::from(finding.starts_with("problem"))),
            "{finding}"
        );
        assert!(
            findings[0].starts_with("doubt: it has no caBundle"),
            "{findings:#?}"
        );
    }
}

#[tokio::test]
async fn webhooks_of_one_server_have_to_trust_the_same() {
    let world = World::new().await;
    let trusting = |authority: &Authority| {
        let bundle = authority.trust().to_ca_bundle();
        json!({
            "clientConfig": {"service": {"namespace": "blue", "name": "hook"}, "caBundle": bundle},
            "rules": [rule("configmaps")],
        })
    };
    let (ours, others) = (
        Authority::new("ours").unwrap(),
        Authority::new("others").unwrap(),
    );
    world.has(&[namespace(), service(443), slice(true)]).await;
    world
        .has(&[
            configuration("one", trusting(&ours)),
            configuration("two", trusting(&ours)),
        ])
        .await;
    assert_eq!(world.findings("one").await.1, Some(0));
    world.has(&[configuration("two", trusting(&others))]).await;
    let (findings, code) = world.findings("one").await;
    let finding = "problem: two.example.com calls the same Service with another caBundle";
    assert!(findings.contains(&finding.to_owned()), "{findings:#?}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_url_is_called_as_an_api_server_would() {
    let (world, authority) = (World::new().await, Authority::new("ours").unwrap());
    let server = authority
        .sign_server(["127.0.0.1"], Duration::from_hours(24))
        .unwrap();
    let (listener, tls) = (
        TcpListener::bind("127.0.0.1:0").await.unwrap(),
        acceptor(&server),
    );
    let url = format!("https://{}/hook", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = tls.accept(stream).await;
        }
    });
    let calling = |authority: &Authority| {
        let bundle = authority.trust().to_ca_bundle();
        json!({"clientConfig": {"url": url, "caBundle": bundle}, "rules": [rule("pods")]})
    };
    world
        .has(&[configuration("one", calling(&authority))])
        .await;
    let (findings, code) = world.findings("one").await;
    assert_eq!(
        findings[1..],
        [format!(
            "good: {url} answers from this machine, and its caBundle verifies the certificate"
        )]
    );
    assert_eq!(code, Some(0));

    world
        .has(&[configuration(
            "one",
            calling(&Authority::new("others").unwrap()),
        )])
        .await;
    let (findings, code) = world.findings("one").await;
    assert!(
        findings[1].starts_with(&format!(
            "problem: calling {url} from this machine: invalid peer certificate"
        )),
        "{findings:#?}"
    );
    assert_eq!(code, Some(1));

    answering.abort();
    let _ = answering.await;
    let (findings, _) = world.findings("one").await;
    assert!(
        findings[1].starts_with(&format!("problem: calling {url} from this machine: ")),
        "{findings:#?}"
    );
    assert!(!findings[1].contains("certificate"), "{findings:#?}");
}

#[tokio::test]
async fn a_webhook_that_is_called_for_its_own_pods_locks_itself_out() {
    let world = World::new().await;
    let judging = |selector: Value, policy: &str| {
        json!({
            "clientConfig": {"service": {"namespace": "blue", "name": "hook"}},
            "rules": [rule("pods")],
            "failurePolicy": policy,
            "namespaceSelector": selector,
        })
    };
    world.has(&[namespace(), service(443), slice(true)]).await;
    let elsewhere = json!({"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["blue"]},
    ]});
    for (selector, policy, locks) in [
        (json!({}), "Fail", true),
        (json!({}), "Ignore", false),
        (elsewhere, "Fail", false),
    ] {
        world
            .has(&[configuration("one", judging(selector.clone(), policy))])
            .await;
        let (findings, code) = world.findings("one").await;
        let found = findings
            .iter()
            .any(|one| one.starts_with("problem: it may keep its own program from starting"));
        assert_eq!(
            (found, code),
            (locks, Some(i32::from(locks))),
            "{selector} {policy}: {findings:#?}"
        );
    }
}

#[tokio::test]
async fn conversions_are_examined_with_the_webhooks_of_their_server() {
    let (world, ours) = (World::new().await, Authority::new("ours").unwrap());
    let trusting = |authority: &Authority| {
        let bundle = authority.trust().to_ca_bundle();
        json!({"service": {"namespace": "blue", "name": "hook"}, "caBundle": bundle})
    };
    let webhook = json!({"clientConfig": trusting(&ours), "rules": [rule("configmaps")]});
    let others = trusting(&Authority::new("others").unwrap());
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {"clientConfig": others, "conversionReviewVersions": ["v1"]},
    });
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Garden", "plural": "gardens", "singular": "garden"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            "conversion": conversion,
        },
    });
    let objects = [
        namespace(),
        service(443),
        slice(true),
        configuration("one", webhook),
        definition,
    ];
    world.has(&objects).await;
    let ran = world.examine(&["gardens.example.com"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert_eq!(
        ran.out,
        "gardens.example.com of CustomResourceDefinition gardens.example.com\n  good: the certificates in its caBundle are \
         valid\n  problem: one.example.com calls the same Service with another caBundle\n  good: ready endpoints of the \
         Service blue/hook: 1\n"
    );
}

fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue"}})
}

fn service(port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": "blue", "name": "hook"},
        "spec": {"selector": {"app": "hook"}, "ports": [{"port": port}]},
    })
}

fn slice(ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"namespace": "blue", "name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.9"], "conditions": {"ready": ready}}],
    })
}

fn rule(resource: &str) -> Value {
    json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]})
}

fn configuration(name: &str, webhook: Value) -> Value {
    let mut webhook = webhook;
    webhook["name"] = json!(format!("{name}.example.com"));
    webhook["sideEffects"] = json!("None");
    webhook["admissionReviewVersions"] = json!(["v1"]);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    })
}
