//! What WhiteLists tell of themselves, and how often it is written.

use serde_json::{Value, json};

use super::setting::{Setting, sample};
use image_police::WhiteList;
use kubewright::testing::Requests;

#[tokio::test]
async fn a_list_counts_its_images_and_who_was_checked_and_refused() {
    let setting = Setting::with(&[]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("legal", "nginx").await;
    for (name, image) in [("first", "redis:7"), ("second", "httpd")] {
        setting.deploy(name, image).await;
        setting.gone(name).await;
    }
    let status = setting
        .status("sample", |status| {
            status.checked == 1 && status.offenders.is_empty()
        })
        .await;
    assert_eq!((status.images, status.refused), (3, 2));
    let last = status.last_offender.unwrap();
    assert_eq!(
        (
            last.name.as_str(),
            last.container.as_str(),
            last.image.as_str()
        ),
        ("second", "app", "httpd")
    );

    let path = format!(
        "/apis/police.foo.bar/v1beta1/namespaces/{}/whitelists",
        setting.cluster.namespace()
    );
    let table = http::Request::get(path)
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())
        .unwrap();
    let table: Value = serde_json::from_slice(setting.cluster.send(table).await.body()).unwrap();
    let columns = table["columnDefinitions"].as_array().unwrap();
    let names: Vec<&str> = columns
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "Name",
            "Images",
            "Checked",
            "Refused",
            "Last Offender",
            "Image",
            "Age"
        ]
    );
    let row = table["rows"][0]["cells"].as_array().unwrap();
    let cells = ["sample", "3", "1", "2", "second", "httpd"];
    for (cell, expected) in row.iter().zip(cells) {
        assert_eq!(cell.to_string().trim_matches('"'), expected);
    }
}

#[tokio::test]
async fn nothing_is_written_for_no_change() {
    let setting = Setting::with(&["--dry-run"]).await;
    setting.list("sample", &sample()).await;
    setting.deploy("legal", "nginx").await;
    setting.deploy("illegal", "redis").await;
    setting
        .status("sample", |status| {
            (status.checked, status.refused) == (2, 1)
        })
        .await;
    setting.cluster.forget_sent();
    // Neither a new list that allows nothing new nor a label is a change for the first one.
    for name in ["tail", "user"] {
        setting.list(name, &json!([])).await;
        setting.status(name, |status| status.checked == 2).await;
    }
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/legal",
        setting.cluster.namespace()
    );
    let label = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(
            json!({"metadata": {"labels": {"team": "blue"}}})
                .to_string()
                .into_bytes(),
        );
    assert_eq!(setting.cluster.send(label.unwrap()).await.status(), 200);
    setting.list("void", &json!([])).await;
    setting.status("void", |status| status.checked == 2).await;
    let written = Requests::of::<WhiteList>().writes().named("sample");
    assert!(setting.cluster.sent(&written).is_empty());
    let told = setting
        .cluster
        .sent(&Requests::all().resource("events.k8s.io", "events"));
    assert!(told.is_empty(), "{told:?}");
    let events = setting.told_of("illegal").await;
    assert_eq!(events.len(), 1, "{events:?}");
}
