//! Conversions under test: a custom resource in several versions, which a real HTTPS webhook converts for the API server.

use kube::Client;
use kubewright_manager::{App, Program};
use kubewright_testing::{RoundTrips, TestCluster, eventually, round_trips};
use kubewright_webhook::{Webhooks, converting};
use serde_json::{Value, json};

use crate::widgets::{v1, v1beta1, v2};

/// v1 is the hub; v2 keeps its size in two numbers, v1beta1 in a text.
fn webhooks() -> Webhooks {
    Webhooks::new("example.com").with(
        converting::<v1::Widget>()
            .spoke::<v2::Widget>()
            .spoke::<v1beta1::Widget>(),
    )
}

async fn cluster() -> TestCluster {
    TestCluster::builder().webhooks(webhooks()).start().await
}

fn widget(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Widget",
        "metadata": {"name": name, "labels": {"team": "blue"}},
        "spec": spec,
    })
}

async fn read(client: &Client, path: &str) -> Value {
    let path = format!("/apis/example.com/{path}");
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    client.request(request).await.unwrap()
}

async fn spec_of(cluster: &TestCluster, version: &str, name: &str) -> Value {
    let namespace = cluster.namespace();
    let path = format!("{version}/namespaces/{namespace}/widgets/{name}");
    read(&cluster.client(), &path).await["spec"].take()
}

#[test]
fn the_definitions_of_a_program_have_every_version() {
    let program = Program::new(|_| {
        App::new("widgets")
            .crd::<v1beta1::Widget>()
            .webhooks(webhooks())
    });
    let crds = program.crds();
    let [definition] = crds.objects() else {
        panic!("{crds:?}");
    };
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let mut names: Vec<_> = versions.iter().map(|version| &version["name"]).collect();
    names.sort_by_key(|name| name.as_str());
    assert_eq!(names, ["v1", "v1beta1", "v2"]);
}

#[tokio::test]
async fn what_is_created_in_one_version_is_read_in_every_other() {
    let cluster = cluster().await;
    let made = widget("v1beta1", "a", &json!({"size": "3x4", "color": "red"}));
    let made = cluster.apply(&made).await.expect_allowed();
    assert_eq!(made["apiVersion"], "example.com/v1beta1");
    assert_eq!(made["spec"], json!({"size": "3x4", "color": "red"}));
    assert_eq!(made["metadata"]["labels"], json!({"team": "blue"}));
    for (version, spec) in [
        (
            "v1",
            json!({"area": {"width": 3, "height": 4}, "color": "red"}),
        ),
        (
            "v2",
            json!({"width": 3, "height": 4, "paint": {"color": "red"}}),
        ),
    ] {
        assert_eq!(spec_of(&cluster, version, "a").await, spec, "{version}");
    }
}

#[tokio::test]
async fn a_list_of_objects_that_were_written_in_several_versions_is_in_one() {
    let cluster = cluster().await;
    for (version, name, spec) in [
        ("v1", "a", json!({"area": {"width": 1, "height": 1}})),
        ("v2", "b", json!({"width": 2, "height": 2})),
        ("v1beta1", "c", json!({"size": "3x3"})),
    ] {
        cluster
            .apply(&widget(version, name, &spec))
            .await
            .expect_allowed();
    }
    let namespace = cluster.namespace();
    let path = format!("v2/namespaces/{namespace}/widgets");
    let list = read(&cluster.client(), &path).await;
    let items = list["items"].as_array().unwrap();
    let widths: Vec<_> = items.iter().map(|item| &item["spec"]["width"]).collect();
    assert_eq!(widths, [&json!(1), &json!(2), &json!(3)]);
    assert!(
        items
            .iter()
            .all(|item| item["apiVersion"] == "example.com/v2")
    );
}

#[tokio::test]
async fn a_failed_conversion_is_reported_to_the_client() {
    let cluster = cluster().await;
    let vast = widget("v2", "vast", &json!({"width": 1, "height": 1, "depth": 9}));
    let refused = cluster.apply(&vast).await.expect_status();
    assert!(
        refused.message.contains(
            "conversion webhook for example.com/v2, Kind=Widget failed: cannot convert Widget default/vast from example.com/v2 to example.com/v1: "
        ) && refused.message.ends_with("a widget has no depth in v1"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn a_change_in_one_version_keeps_what_the_other_has() {
    let cluster = cluster().await;
    let made = widget(
        "v1",
        "a",
        &json!({"area": {"width": 3, "height": 4}, "color": "red"}),
    );
    cluster.apply(&made).await.expect_allowed();
    let namespace = cluster.namespace();
    let path = format!("/apis/example.com/v2/namespaces/{namespace}/widgets/a");
    let patch = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(json!({"spec": {"width": 8}}).to_string().into_bytes())
        .unwrap();
    let changed: Value = cluster.client().request(patch).await.unwrap();
    assert_eq!(
        changed["spec"],
        json!({"width": 8, "height": 4, "paint": {"color": "red"}})
    );
    assert_eq!(
        spec_of(&cluster, "v1", "a").await,
        json!({"area": {"width": 8, "height": 4}, "color": "red"})
    );
}

#[tokio::test]
async fn a_definition_that_stores_another_version_finds_what_was_stored_before() {
    let cluster = cluster().await;
    let made = widget("v2", "a", &json!({"width": 3, "height": 4}));
    cluster.apply(&made).await.expect_allowed();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let get = http::Request::get(path).body(Vec::new()).unwrap();
    let mut definition: Value = cluster.client().request(get).await.unwrap();
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = (version["name"] == "v2").into();
    }
    let put = http::Request::put(path)
        .header("content-type", "application/json")
        .body(definition.to_string().into_bytes())
        .unwrap();
    let definition: Value = cluster.client().request(put).await.unwrap();
    assert_eq!(definition["status"]["storedVersions"], json!(["v1", "v2"]));
    eventually("the widget in v1", async || {
        let spec = spec_of(&cluster, "v1", "a").await;
        (spec == json!({"area": {"width": 3, "height": 4}})).then_some(())
    })
    .await;
    assert_eq!(
        spec_of(&cluster, "v2", "a").await,
        json!({"width": 3, "height": 4})
    );
}

#[test]
fn versions_that_say_the_same_pass() {
    RoundTrips::of(converting::<v1::Widget>().spoke::<v2::Widget>())
        .without("v2", "spec.depth")
        .check();
    RoundTrips::of(converting::<v1::Widget>().spoke::<v1beta1::Widget>())
        .values("spec.size", ["3x4", "0x0"])
        .check();
}

#[test]
fn a_field_that_the_hub_cannot_hold_is_found_and_made_small() {
    let caught = std::panic::catch_unwind(|| {
        round_trips(converting::<v1::Widget>().spoke_by(
            |mut spoke: v2::Widget| {
                spoke.spec.depth = None;
                v1::Widget::try_from(spoke)
            },
            |hub| Ok::<_, String>(v2::Widget::from(hub)),
        ));
    });
    let message = *caught.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.contains(
            "example.com/v2 -> example.com/v1 -> example.com/v2 changes spec.depth: it was "
        ),
        "{message}"
    );
    assert!(!message.contains("paint"), "{message}");
}

#[test]
fn a_pattern_asks_for_values() {
    let caught = std::panic::catch_unwind(|| {
        round_trips(converting::<v1::Widget>().spoke::<v1beta1::Widget>());
    });
    let message = *caught.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(
        message,
        "no object of example.com/v1beta1 can be made: spec.size has a pattern; say which values it has with `.values(\"spec.size\", [..])`"
    );
}
