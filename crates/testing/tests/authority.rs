//! A program that looks after its certificates itself, called by an API server that knows of them what is published.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kubewright_certificates::{Authority, SharedAuthority, Timing, TrustBundle};
use kubewright_manager::{App, Needs};
use kubewright_testing::{TestCluster, eventually, yaml};
use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
use serde_json::json;
use tokio::time::sleep;

async fn no(_: Change<Pod>, _: Review) -> Validated {
    deny("no pods today")
}

/// Certificates that live for seconds.
fn app(_: &mut Needs) -> App {
    let short = Duration::from_millis(300);
    let timing = Timing::new()
        .leaf(Duration::from_secs(2))
        .settle(short)
        .skew(short)
        .spread(Duration::from_millis(10));
    let authority = SharedAuthority::in_secret("policy-certs").for_service("policy");
    App::new("policy")
        .webhooks(Webhooks::new("example.com").with(validating("none", no)))
        .certificates(authority.timing(timing))
}

/// The configuration that leads to the program, whatever it is called where tests share an API server.
async fn own_configuration(cluster: &TestCluster) -> Option<ValidatingWebhookConfiguration> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    let all = configurations.list(&ListParams::default()).await.unwrap();
    let namespace = cluster.namespace().trim_start_matches("test-").to_owned();
    let is_own = |one: &ValidatingWebhookConfiguration| {
        let name = one.metadata.name.as_deref().unwrap_or_default();
        name == "policy" || name == format!("policy-{namespace}")
    };
    all.into_iter().find(is_own)
}

/// What the API server goes by.
async fn bundle(cluster: &TestCluster) -> Option<TrustBundle> {
    let own = own_configuration(cluster).await?;
    let client = own.webhooks?.swap_remove(0).client_config;
    Some(TrustBundle::found_in(client.ca_bundle?.0))
}

async fn is_called(cluster: &TestCluster) {
    let pod: Pod = yaml("{metadata: {name: web}, spec: {containers: [{name: web, image: nginx}]}}");
    let denied = cluster.create(&pod).await.expect_denied();
    assert_eq!(denied.message(), "no pods today");
}

async fn told(cluster: &TestCluster, reason: &str) -> Event {
    let events: Api<Event> = Api::namespaced(cluster.client(), cluster.namespace());
    eventually(&format!("the event {reason}"), async || {
        let all = events.list(&ListParams::default()).await.ok()?;
        let mut all = all.into_iter();
        let event = all.find(|event| event.reason.as_deref() == Some(reason))?;
        let about = event.regarding.as_ref()?.name.as_deref();
        assert_eq!(about, Some("policy-certs"));
        Some(event)
    })
    .await
}

#[tokio::test]
async fn a_program_with_an_authority_is_called_as_soon_as_the_cluster_has_started() {
    let cluster = TestCluster::builder().app(app).start().await;
    is_called(&cluster).await;
    let secret = cluster.get::<Secret>("policy-certs").await.unwrap();
    let certificate = &secret.data.unwrap()["ca.crt"];
    assert_eq!(
        bundle(&cluster).await,
        Some(TrustBundle::found_in(&certificate.0))
    );
    told(&cluster, "AuthorityCreated").await;
}

#[tokio::test]
async fn an_authority_that_is_rotated_costs_no_call() {
    let cluster = TestCluster::builder().app(app).start().await;
    let first = bundle(&cluster).await.unwrap();
    let ask = json!({"metadata": {"annotations": {"kubewright.dev/rotate": "now"}}});
    let asked = cluster.merge::<Secret>("policy-certs", &ask).await;
    asked.expect_allowed();
    let mut most = 0;
    let last = eventually("the end of the rotation", async || {
        is_called(&cluster).await;
        let bundle = bundle(&cluster).await?;
        most = most.max(bundle.certificates().len());
        (most == 2 && !bundle.includes(&first)).then_some(bundle)
    })
    .await;
    assert_eq!(last.certificates().len(), 1);
    is_called(&cluster).await;
    for reason in [
        "AuthorityStaged",
        "AuthorityPublished",
        "AuthoritySwitched",
        "AuthorityRetired",
    ] {
        told(&cluster, reason).await;
    }
}

#[tokio::test]
async fn who_overwrites_the_trust_again_and_again_is_named() {
    let cluster = TestCluster::builder().app(app).start().await;
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    let meddler = PostParams {
        field_manager: Some("meddler".to_owned()),
        ..PostParams::default()
    };
    let theirs = Authority::new("theirs").unwrap().certificate_pem();
    let meddling = async {
        loop {
            let mut own = own_configuration(&cluster).await.unwrap();
            let webhooks = own.webhooks.as_mut().unwrap();
            webhooks[0].client_config.ca_bundle = Some(ByteString(theirs.clone().into_bytes()));
            let name = own.metadata.name.clone().unwrap();
            // The program may have been faster.
            let _ = configurations.replace(&name, &meddler, &own).await;
            sleep(Duration::from_millis(10)).await;
        }
    };
    let event = tokio::select! {
        () = meddling => unreachable!("it never ends"),
        event = told(&cluster, "TrustOverwritten") => event,
    };
    let note = event.note.unwrap();
    assert!(
        note.starts_with("meddler overwrites the trust in "),
        "{note}"
    );
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    // Once it is left alone it is put back, beside what was written over it.
    eventually("the trust", async || {
        let bundle = bundle(&cluster).await?;
        (bundle.certificates().len() == 2).then_some(())
    })
    .await;
    is_called(&cluster).await;
}

#[tokio::test]
async fn trust_that_is_lost_with_the_secret_comes_back() {
    let cluster = TestCluster::builder().app(app).start().await;
    let before = bundle(&cluster).await;
    let deleted = cluster.delete::<Secret>("policy-certs").await;
    deleted.expect_allowed();
    eventually("the Secret", async || {
        cluster.get::<Secret>("policy-certs").await
    })
    .await;
    // Through a few renewals of the certificate that is served.
    for _ in 0..10 {
        is_called(&cluster).await;
        sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(bundle(&cluster).await, before);
}
