//! What must not go wrong when something else does.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;
use kubewright::testing::{End, Refusal, Requests, Server, TestCluster, eventually};
use serde_json::json;

use super::setting::{Setting, deployment, options, sample};

/// Denies the deletion of a protected Deployment.
async fn protected(change: Change<Deployment>, _: Review) -> Validated {
    if change.object().labels().contains_key("protected") {
        return deny("this one is protected");
    }
    Ok(())
}

fn police(needs: &mut Needs) -> App {
    image_police::app(options(&[]), needs)
}

/// The original took a list that it could not read for an empty one, and deleted every Deployment of the namespace.
#[tokio::test]
async fn a_list_that_cannot_be_read_has_nothing_deleted() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .app(police)
        .start()
        .await;
    let setting = Setting { cluster };
    // A definition that lets anything pass, as an older one may have done.
    let mut crd = kubewright::Program::new(police).crds().objects()[0].clone();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    setting.cluster.apply(&crd).await.expect_allowed();
    setting.deploy("legal", "nginx").await;
    setting.deploy("illegal", "redis").await;
    let broken = json!({
        "apiVersion": "police.foo.bar/v1beta1", "kind": "WhiteList",
        "metadata": {"name": "broken"}, "spec": {"images": "nginx"},
    });
    setting.cluster.apply(&broken).await.expect_allowed();
    setting.list("sample", &sample()).await;

    // In another namespace everything goes on, and by then these have been looked at.
    let other = setting.cluster.new_namespace("other", &[]).await;
    let other = Setting { cluster: other };
    other.list("sample", &sample()).await;
    other.deploy("illegal", "redis").await;
    other.gone("illegal").await;
    assert!(setting.is_there("legal").await && setting.is_there("illegal").await);
    assert!(setting.told_of("illegal").await.is_empty());

    let mended = json!({"spec": {"images": []}});
    setting
        .cluster
        .merge::<image_police::WhiteList>("broken", &mended)
        .await
        .expect_allowed();
    setting.gone("illegal").await;
    assert!(setting.is_there("legal").await);
}

/// The original ended when a delete failed.
#[tokio::test]
async fn a_delete_that_fails_is_tried_again() {
    let protection =
        Webhooks::new("example.com").with(validating("protected", protected).on([Delete]));
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .app(police)
        .webhooks(protection)
        .exact_permissions()
        .start()
        .await;
    let setting = Setting { cluster };
    setting.list("sample", &sample()).await;
    let mut web = deployment("web", "redis");
    web.labels_mut().insert("protected".into(), "yes".into());
    setting.cluster.create(&web).await.expect_allowed();
    setting
        .status("sample", |status| status.offenders.len() == 1)
        .await;
    // The police goes on with others meanwhile.
    setting.deploy("other", "httpd").await;
    setting.gone("other").await;
    assert!(setting.is_there("web").await);
    // A Deployment that offends again after a correction is reported again, in the same Event.
    for (image, offenders) in [("nginx", 0), ("redis", 1)] {
        let containers = json!([{"name": "app", "image": image}]);
        let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
        setting
            .cluster
            .merge::<Deployment>("web", &change)
            .await
            .expect_allowed();
        setting
            .status("sample", |status| status.offenders.len() == offenders)
            .await;
    }
    let told = setting.told_of("web").await;
    assert_eq!(told.len(), 1, "{told:?}");
    let label = json!({"metadata": {"labels": {"protected": null}}});
    setting
        .cluster
        .merge::<Deployment>("web", &label)
        .await
        .expect_allowed();
    setting.gone("web").await;
    let status = setting.status("sample", |status| status.checked == 0).await;
    assert_eq!(status.refused, 3, "every offence is counted once");
}

#[tokio::test]
async fn nothing_is_deleted_while_lists_are_out_of_reach() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting.status("sample", |status| status.images == 3).await;
    let faults = setting.cluster.faults();
    let lists = Requests::of::<image_police::WhiteList>();
    faults.on(lists.clone()).answer(Refusal::unavailable());
    faults.end_watches(&lists, &End::Error(Refusal::gone()));
    setting.deploy("legal", "nginx").await;
    setting.deploy("illegal", "redis").await;
    // What cannot be taken down is not deleted. A list is read before an offence that is new is written into it.
    eventually("an attempt to take it down", async || {
        let tried = setting.cluster.sent(&lists.clone().verb("get"));
        tried
            .iter()
            .any(|sent| sent.status() == Some(503))
            .then_some(())
    })
    .await;
    assert!(setting.is_there("legal").await && setting.is_there("illegal").await);
    faults.clear();
    setting.gone("illegal").await;
    assert!(setting.is_there("legal").await);
}
