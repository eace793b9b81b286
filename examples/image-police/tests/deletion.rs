//! Who stays and who goes.

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use super::log::lines_about;
use super::setting::{Setting, deployment, sample};
use image_police::WhiteList;

#[tokio::test]
async fn a_deployment_whose_image_is_listed_stays_and_another_goes_with_an_event() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("legal", "nginx:1.14.2").await;
    setting.deploy("illegal", "nginx:1.15").await;
    setting.gone("illegal").await;
    setting.status("sample", |status| status.checked == 1).await;
    assert!(setting.is_there("legal").await);
    let events = setting.told_of("illegal").await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].type_.as_deref(), Some("Warning"));
    assert_eq!(events[0].reason.as_deref(), Some("IllegalImage"));
    assert_eq!(
        events[0].note.as_deref(),
        Some("container app: the image nginx:1.15 is not in the WhiteList sample")
    );
    assert!(setting.told_of("legal").await.is_empty());
}

#[tokio::test]
async fn without_a_list_nothing_is_touched() {
    let setting = Setting::with(&[]).await;
    setting.deploy("anything", "redis").await;
    // What came before the list is judged when there is one, so that it was not touched until then.
    setting
        .list("sample", &json!([{"name": "redis", "tags": ["latest"]}]))
        .await;
    setting.status("sample", |status| status.checked == 1).await;
    assert!(setting.is_there("anything").await);
    assert!(setting.told_of("anything").await.is_empty());
}

#[tokio::test]
async fn a_list_that_comes_or_changes_is_held_against_what_is_there() {
    let setting = Setting::with(&[]).await;
    setting.deploy("redis", "redis:7").await;
    setting.deploy("nginx", "nginx").await;
    setting.list("sample", &sample()).await;
    setting.gone("redis").await;
    let narrower = json!({"spec": {"images": [{"name": "nginx", "tags": ["1.14.2"]}]}});
    setting
        .cluster
        .merge::<WhiteList>("sample", &narrower)
        .await
        .expect_allowed();
    setting.gone("nginx").await;
}

#[tokio::test]
async fn a_deployment_that_changes_is_judged_again() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("web", "nginx").await;
    setting.status("sample", |status| status.checked == 1).await;
    let containers = json!([{"name": "app", "image": "httpd"}]);
    let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    setting
        .cluster
        .merge::<Deployment>("web", &change)
        .await
        .expect_allowed();
    setting.gone("web").await;
}

#[tokio::test]
async fn init_containers_count() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    let mut web = deployment("web", "nginx");
    let pod = web.spec.template.spec.as_mut().unwrap();
    let mut init = pod.containers[0].clone();
    (init.name, init.image) = ("setup".to_owned(), Some("alpine".to_owned()));
    pod.init_containers = Some(vec![init]);
    setting.cluster.create(&web).await.expect_allowed();
    setting.gone("web").await;
}

/// The original looked the list up by the name of what had changed, which may be that of a Deployment.
#[tokio::test]
async fn a_deployment_named_like_a_list_does_not_hide_it() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("sample", "nginx").await;
    setting.deploy("illegal", "redis").await;
    setting.gone("illegal").await;
    assert!(setting.is_there("sample").await);
    setting
        .cluster
        .delete::<Deployment>("sample")
        .await
        .expect_allowed();
    setting.deploy("sample", "redis").await;
    setting.gone("sample").await;
}

#[tokio::test]
async fn one_of_several_lists_is_enough() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting
        .list("more", &json!([{"name": "redis", "tags": ["7"]}]))
        .await;
    // The second list must be known before the first one is held against what it allows.
    setting.status("more", |status| status.images == 1).await;
    setting.deploy("first", "nginx").await;
    setting.deploy("second", "redis:7").await;
    setting.deploy("third", "httpd").await;
    setting.gone("third").await;
    for list in ["sample", "more"] {
        let status = setting.status(list, |status| status.checked == 2).await;
        assert_eq!(status.refused, 1);
    }
    assert!(setting.is_there("first").await && setting.is_there("second").await);
    assert_eq!(
        setting.told_of("third").await.len(),
        1,
        "one Event for both lists"
    );
}

#[tokio::test]
async fn all_lists_have_to_agree_if_that_is_asked_for() {
    let setting = Setting::with(&["--require-all"]).await;
    setting
        .list("more", &json!([{"name": "nginx", "tags": ["latest"]}]))
        .await;
    setting.list("sample", &sample()).await;
    setting.status("sample", |status| status.images == 3).await;
    setting.deploy("both", "nginx").await;
    setting.deploy("one", "nginx:1.14.2").await;
    setting.gone("one").await;
    assert!(setting.is_there("both").await);
    let status = setting.status("more", |status| status.refused == 1).await;
    assert_eq!(status.last_offender.unwrap().name, "one");
    let status = setting.status("sample", |status| status.checked == 1).await;
    assert_eq!(status.refused, 0, "this list has the image");
}

#[tokio::test]
async fn a_dry_run_tells_and_leaves_alone() {
    let setting = Setting::with(&["--dry-run"]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("illegal", "redis").await;
    setting.deploy("legal", "nginx").await;
    let status = setting
        .status("sample", |status| {
            (status.checked, status.refused) == (2, 1)
        })
        .await;
    assert_eq!(status.offenders[0].name, "illegal");
    assert_eq!(setting.told_of("illegal").await.len(), 1);
    assert!(setting.is_there("illegal").await);

    // What is put right is no offender any more; that it was one stays on the record.
    let containers = json!([{"name": "app", "image": "nginx"}]);
    let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    setting
        .cluster
        .merge::<Deployment>("illegal", &change)
        .await
        .expect_allowed();
    let status = setting
        .status("sample", |status| status.offenders.is_empty())
        .await;
    assert_eq!(status.refused, 1);
    assert_eq!(status.last_offender.unwrap().image, "redis");
}

#[tokio::test]
async fn the_log_tells_of_finding_and_deleting() {
    lines_about("");
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("illegal", "redis").await;
    setting.gone("illegal").await;
    let place = format!("{}/illegal", setting.cluster.namespace());
    let lines = lines_about(&place);
    let [found, deleting] = &lines[..] else {
        panic!("two lines: {lines:?}")
    };
    assert!(found.contains("Found! Illegal container image!"), "{found}");
    let text = format!("Deleting Deployment {place}");
    assert!(deleting.ends_with(&text), "{deleting}");
}
