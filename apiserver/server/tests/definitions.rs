//! The life of a definition and of the objects that it defines.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::{Cluster, map};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [version("v1")],
        },
    })
}

fn version(name: &str) -> Value {
    json!({
        "name": name,
        "served": true,
        "storage": name == "v1",
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        ],
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "size": {"type": "integer", "minimum": 1},
                        "color": {"type": "string", "default": "red"},
                        "replicas": {"type": "integer"},
                    },
                },
                "status": {
                    "type": "object",
                    "properties": {"replicas": {"type": "integer"}},
                },
            },
        }},
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 3, "replicas": 1},
    })
}

async fn with_widgets() -> Cluster {
    let cluster = Cluster::start();
    cluster.post(DEFINITIONS, &definition()).await.expect(201);
    cluster
}

fn condition<'a>(definition: &'a Value, kind: &str) -> &'a Value {
    let conditions = definition["status"]["conditions"].as_array();
    let mut found = conditions.into_iter().flatten();
    found
        .find(|found| found["type"] == kind)
        .unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_definition_is_established_when_its_author_has_the_answer() {
    let cluster = with_widgets().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let found = cluster.get(&path).await.expect(200);
    assert_eq!(condition(&found, "NamesAccepted")["status"], "True");
    assert_eq!(condition(&found, "Established")["status"], "True");
    assert_eq!(
        found["status"]["acceptedNames"],
        json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"]})
    );
    assert_eq!(found["status"]["storedVersions"], json!(["v1"]));
    let resources = cluster.get("/apis/example.com/v1").await.expect(200);
    assert_eq!(resources["resources"][0]["kind"], "Widget");
}

#[tokio::test]
async fn an_object_of_a_definition_lives_from_create_to_delete() {
    let cluster = with_widgets().await;
    let mut watch = cluster.watch(&format!("{WIDGETS}?watch=1")).await;
    let made = cluster.post(WIDGETS, &widget("a")).await.expect(201);
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["spec"]["color"], "red");
    let path = format!("{WIDGETS}/a");
    assert_eq!(cluster.get(&path).await.expect(200), made);
    let list = cluster.get(WIDGETS).await.expect(200);
    assert_eq!(list["kind"], "WidgetList");
    assert_eq!(list["items"], json!([made]));
    let patch = json!({"spec": {"size": 4}});
    let patched = cluster.patch("merge", &path, &patch).await.expect(200);
    assert_eq!(patched["metadata"]["generation"], 2);
    let message = cluster.patch("strategic", &path, &patch).await;
    message.refused(415, "UnsupportedMediaType");
    cluster.delete(&path).await.expect(200);
    cluster.get(&path).await.refused(404, "NotFound");
    for expected in ["ADDED", "MODIFIED", "DELETED"] {
        assert_eq!(watch.next().await.unwrap()["type"], expected);
    }
}

#[tokio::test]
async fn what_the_schema_does_not_allow_is_refused_and_what_it_does_not_know_goes() {
    let cluster = with_widgets().await;
    let mut object = widget("a");
    object["spec"]["size"] = 0.into();
    let message = cluster.post(WIDGETS, &object).await.refused(422, "Invalid");
    assert_eq!(
        message,
        "Widget.example.com \"a\" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"
    );
    let mut object = widget("a");
    object["spec"]["unknown"] = 1.into();
    let made = cluster.post(WIDGETS, &object).await.expect(201);
    assert_eq!(
        made["spec"],
        json!({"size": 3, "replicas": 1, "color": "red"})
    );
}

#[tokio::test]
async fn status_and_scale_have_paths_of_their_own() {
    let cluster = with_widgets().await;
    let mut object = cluster.post(WIDGETS, &widget("a")).await.expect(201);
    object["status"] = json!({"replicas": 1});
    object["spec"]["size"] = 9.into();
    let written = cluster
        .put(&format!("{WIDGETS}/a/status"), &object)
        .await
        .expect(200);
    assert_eq!(written["status"], json!({"replicas": 1}));
    assert_eq!(written["spec"]["size"], 3);
    assert_eq!(written["metadata"]["generation"], 1);
    let mut scale = cluster.get(&format!("{WIDGETS}/a/scale")).await.expect(200);
    assert_eq!(scale["spec"], json!({"replicas": 1}));
    assert_eq!(scale["status"], json!({"replicas": 1}));
    scale["spec"]["replicas"] = 5.into();
    cluster
        .put(&format!("{WIDGETS}/a/scale"), &scale)
        .await
        .expect(200);
    let object = cluster.get(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(object["spec"]["replicas"], 5);
    assert_eq!(object["metadata"]["generation"], 2);
}

#[tokio::test]
async fn two_definitions_do_not_get_one_name() {
    let cluster = with_widgets().await;
    let mut other = definition();
    other["metadata"]["name"] = "gadgets.example.com".into();
    other["spec"]["names"] =
        json!({"plural": "gadgets", "kind": "Widget", "listKind": "GadgetList"});
    cluster.post(DEFINITIONS, &other).await.expect(201);
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let found = cluster.get(&path).await.expect(200);
    let names = condition(&found, "NamesAccepted");
    assert_eq!(names["reason"], "KindConflict");
    assert_eq!(names["message"], "\"Widget\" is already in use");
    assert_eq!(condition(&found, "Established")["reason"], "NotAccepted");
    let nowhere = cluster.get("/apis/example.com/v1/gadgets").await;
    assert_eq!(nowhere.code, 404);

    // The name is free once the first one is gone.
    let first = format!("{DEFINITIONS}/widgets.example.com");
    cluster.delete(&first).await.expect(200);
    cluster.gone(&first).await;
    let found = cluster.get(&path).await.expect(200);
    assert_eq!(condition(&found, "Established")["status"], "True");
    cluster
        .get("/apis/example.com/v1/gadgets")
        .await
        .expect(200);
}

#[tokio::test]
async fn a_deleted_definition_waits_for_its_objects_and_they_for_their_finalizers() {
    let cluster = with_widgets().await;
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(WIDGETS, &held).await.expect(201);
    cluster.post(WIDGETS, &widget("free")).await.expect(201);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let going = cluster.delete(&path).await.expect(200);
    assert_eq!(
        condition(&going, "Terminating")["reason"],
        "InstanceDeletionPending"
    );
    cluster.gone(&format!("{WIDGETS}/free")).await;
    let going = cluster.get(&path).await.expect(200);
    assert_eq!(
        condition(&going, "Terminating")["reason"],
        "InstanceDeletionInProgress"
    );
    let message = cluster
        .post(WIDGETS, &widget("new"))
        .await
        .refused(403, "Forbidden");
    assert_eq!(
        message,
        "widgets.example.com \"new\" is forbidden: create not allowed while custom resource definition is terminating"
    );
    let release = json!({"metadata": {"finalizers": null}});
    cluster
        .patch("merge", &format!("{WIDGETS}/held"), &release)
        .await
        .expect(200);
    cluster.gone(&path).await;
    let gone = cluster.get(WIDGETS).await;
    assert_eq!(gone.code, 404);
    // A definition of the same name begins anew.
    cluster.post(DEFINITIONS, &definition()).await.expect(201);
    assert_eq!(cluster.get(WIDGETS).await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn an_object_can_be_read_in_every_served_version() {
    let cluster = Cluster::start();
    let mut both = definition();
    both["spec"]["versions"] = json!([version("v1"), version("v2")]);
    cluster.post(DEFINITIONS, &both).await.expect(201);
    cluster.post(WIDGETS, &widget("a")).await.expect(201);
    let second = "/apis/example.com/v2/namespaces/default/widgets";
    let found = cluster.get(&format!("{second}/a")).await.expect(200);
    assert_eq!(found["apiVersion"], "example.com/v2");
    let mut other = widget("b");
    other["apiVersion"] = "example.com/v2".into();
    let made = cluster.post(second, &other).await.expect(201);
    assert_eq!(made["apiVersion"], "example.com/v2");
    let list = cluster.get(WIDGETS).await.expect(200);
    let versions: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["apiVersion"])
        .collect();
    assert_eq!(versions, ["example.com/v1", "example.com/v1"]);
}

#[tokio::test]
async fn a_default_that_comes_later_shows_in_what_was_stored_before() {
    let cluster = with_widgets().await;
    cluster.post(WIDGETS, &widget("a")).await.expect(201);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let patch = json!([
        {"op": "add", "path": format!("{properties}/shape"), "value": {"type": "string", "default": "round"}},
    ]);
    cluster.patch("json", &path, &patch).await.expect(200);
    let found = cluster.get(&format!("{WIDGETS}/a")).await.expect(200);
    assert_eq!(found["spec"]["shape"], "round");
}

#[tokio::test]
async fn a_table_has_the_columns_of_the_definition() {
    let cluster = with_widgets().await;
    cluster.post(WIDGETS, &widget("a")).await.expect(201);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let table = cluster.get_as(WIDGETS, accept).await.expect(200);
    let names: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["name"])
        .collect();
    assert_eq!(names, ["Name", "Size"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 3]));
}

#[tokio::test]
async fn applies_of_two_managers_conflict() {
    let cluster = with_widgets().await;
    let apply = async |manager: &str, size: i64, force: bool| {
        let mut object = widget("a");
        object["spec"] = json!({"size": size});
        let path = format!("{WIDGETS}/a?fieldManager={manager}&force={force}");
        let headers = [("content-type", "application/apply-patch+yaml")];
        cluster
            .send(Method::PATCH, &path, &headers, object.to_string())
            .await
    };
    apply("one", 1, false).await.expect(201);
    let message = apply("two", 2, false).await.refused(409, "Conflict");
    assert!(
        message.contains("conflict with \"one\": .spec.size"),
        "{message}"
    );
    let taken = apply("two", 2, true).await.expect(200);
    assert_eq!(taken["spec"]["size"], 2);
}

#[tokio::test]
async fn a_client_that_deletes_a_definition_and_then_watches_it_sees_how_it_ends() {
    let cluster = with_widgets().await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    cluster.delete(&path).await.expect(200);
    let named = "fieldSelector=metadata.name%3Dwidgets.example.com";
    let mut watch = cluster
        .watch(&format!(
            "{DEFINITIONS}?watch=true&resourceVersion=0&{named}"
        ))
        .await;
    let (first, _) = watch.next_named().await;
    assert_eq!(first, "ADDED");
    while watch.next_named().await.0 != "DELETED" {}
    cluster.get(&path).await.refused(404, "NotFound");
}

#[tokio::test]
async fn the_finalizer_ends_on_another_runtime_what_it_began_on_one_that_is_gone() {
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let begun = path.clone();
    let first = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let cluster = with_widgets().await;
            cluster.delete(&begun).await.expect(200);
            cluster
        })
    });
    let cluster = first.join().unwrap();
    // Any write of a definition looks at all of them again.
    cluster.delete(&path).await.expect(200);
    cluster.gone(&path).await;
}

#[tokio::test]
async fn a_watch_from_before_its_definition_was_served_is_too_old() {
    let cluster = Cluster::start();
    let before = cluster
        .post("/api/v1/namespaces/default/configmaps", &map("x"))
        .await;
    let before = before.expect(201)["metadata"]["resourceVersion"].clone();
    let made = cluster.post(DEFINITIONS, &definition()).await.expect(201);
    let made = made["metadata"]["resourceVersion"].clone();
    let object = cluster.post(WIDGETS, &widget("a")).await.expect(201);
    let after = object["metadata"]["resourceVersion"].clone();
    let from = |version: &Value| {
        format!(
            "{WIDGETS}?watch=true&resourceVersion={}",
            version.as_str().unwrap()
        )
    };
    for old in [before, made] {
        let mut watch = cluster.watch(&from(&old)).await;
        let event = watch.next().await.unwrap();
        assert_eq!(event["type"], "ERROR");
        assert_eq!(event["object"]["code"], 410);
        let message = event["object"]["message"].as_str().unwrap();
        let old = old.as_str().unwrap();
        assert!(
            message.starts_with(&format!("too old resource version: {old} (")),
            "{message}"
        );
        assert_eq!(watch.next().await, None);
    }
    // Conditions of the definition do not count: a watch goes on while it is deleted.
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(WIDGETS, &held).await.expect(201);
    cluster
        .delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await
        .expect(200);
    let mut watch = cluster.watch(&from(&after)).await;
    assert_eq!(
        watch.next_named().await,
        ("ADDED".to_owned(), "held".to_owned())
    );
}
