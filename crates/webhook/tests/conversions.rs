//! Conversions as the API server calls them.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use kubewright_webhook::{
    Change, Conversion, ConversionVersion, DeclarationError, Review, Validated, Webhooks,
    converting, validating,
};
use serde_json::{Value, json};

use crate::calls::{Answer, post, send};

/// A version of the widgets, as `#[derive(CustomResource)]` would write it.
macro_rules! widget {
    ($module:ident, $version:literal, $kind:literal, $schema:tt, { $($spec:tt)* }) => {
        mod $module {
            use std::borrow::Cow;

            use k8s_openapi::NamespaceResourceScope;
            use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
            use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
            use kube_core::{ApiResource, CustomResourceExt, GroupVersionKind, Resource};
            use serde::{Deserialize, Serialize};

            #[derive(Clone, Debug, Default, Deserialize, Serialize)]
            pub(super) struct Widget {
                pub(super) metadata: ObjectMeta,
                pub(super) spec: Spec,
            }

            #[derive(Clone, Debug, Default, Deserialize, Serialize)]
            pub(super) struct Spec { $($spec)* }

            impl Resource for Widget {
                type DynamicType = ();
                type Scope = NamespaceResourceScope;

                fn kind(_: &()) -> Cow<'_, str> { $kind.into() }
                fn group(_: &()) -> Cow<'_, str> { "example.com".into() }
                fn version(_: &()) -> Cow<'_, str> { $version.into() }
                fn plural(_: &()) -> Cow<'_, str> { "widgets".into() }
                fn meta(&self) -> &ObjectMeta { &self.metadata }
                fn meta_mut(&mut self) -> &mut ObjectMeta { &mut self.metadata }
            }

            impl CustomResourceExt for Widget {
                fn crd() -> CustomResourceDefinition {
                    serde_json::from_value(serde_json::json!({
                        "metadata": {"name": "widgets.example.com"},
                        "spec": {
                            "group": "example.com", "scope": "Namespaced",
                            "names": {"plural": "widgets", "kind": $kind},
                            "versions": [{
                                "name": $version, "served": true, "storage": true,
                                "schema": {"openAPIV3Schema": {
                                    "type": "object", "properties": {"spec": {"type": "object", "properties": $schema}},
                                }},
                            }],
                        },
                    }))
                    .unwrap()
                }
                fn crd_name() -> &'static str { "widgets.example.com" }
                fn api_resource() -> ApiResource {
                    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", $version, $kind))
                }
                fn shortnames() -> &'static [&'static str] { &[] }
            }
        }
    };
}

widget!(v1, "v1", "Widget", {"size": {"type": "integer"}, "parts": {"type": "array"}, "notes": {"type": "array"}}, {
    pub(super) size: u32,
    #[serde(default)]
    pub(super) parts: Vec<super::Part>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
});
widget!(v2, "v2", "Widget", {"length": {"type": "integer"}, "parts": {"type": "array"}}, {
    pub(super) length: u32,
    #[serde(default)]
    pub(super) parts: Vec<super::Part>,
});
widget!(v3, "v3", "Widget", {"text": {"type": "string"}}, { pub(super) text: String, });
widget!(gadget, "v4", "Gadget", {}, {});

#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
struct Part {
    name: String,
}

impl From<v1::Widget> for v2::Widget {
    fn from(hub: v1::Widget) -> Self {
        Self {
            metadata: hub.metadata,
            spec: v2::Spec {
                length: hub.spec.size,
                parts: hub.spec.parts,
            },
        }
    }
}

impl From<v2::Widget> for v1::Widget {
    fn from(spoke: v2::Widget) -> Self {
        Self {
            metadata: spoke.metadata,
            spec: v1::Spec {
                size: spoke.spec.length,
                parts: spoke.spec.parts,
                notes: Vec::new(),
            },
        }
    }
}

/// Leaves the metadata to the library.
impl From<v1::Widget> for v3::Widget {
    fn from(hub: v1::Widget) -> Self {
        let text = hub.spec.size.to_string();
        Self {
            spec: v3::Spec { text },
            ..Self::default()
        }
    }
}

impl TryFrom<v3::Widget> for v1::Widget {
    type Error = std::num::ParseIntError;

    fn try_from(spoke: v3::Widget) -> Result<Self, Self::Error> {
        assert!(spoke.spec.text != "panic", "as the test wants it");
        if spoke.spec.text == "slow" {
            // A conversion that holds its thread.
            let (_never, heard) = std::sync::mpsc::channel::<()>();
            let _ = heard.recv_timeout(Duration::from_millis(400));
            return Ok(Self::default());
        }
        let mut hub = Self::default();
        hub.spec.size = spoke.spec.text.parse()?;
        Ok(hub)
    }
}

async fn allow(_: Change<v1::Widget>, _: Review) -> Validated {
    Ok(())
}

fn conversion() -> Conversion {
    converting::<v1::Widget>()
        .spoke::<v2::Widget>()
        .spoke::<v3::Widget>()
        .into()
}

fn webhooks() -> Webhooks {
    Webhooks::new("example.com").with(conversion())
}

fn widget(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Widget",
        "metadata": {"name": name, "namespace": "blue", "uid": name, "generation": 3, "finalizers": ["a/b"],
            "labels": {"team": "blue"}, "managedFields": [{"manager": "m"}]},
        "spec": spec,
    })
}

fn request(wanted: &str, objects: &[Value]) -> Value {
    json!({"uid": "u", "desiredAPIVersion": format!("example.com/{wanted}"), "objects": objects})
}

fn review(request: &Value) -> String {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request})
        .to_string()
}

async fn asked(wanted: &str, objects: &[Value]) -> Answer {
    let body = review(&request(wanted, objects));
    post(&webhooks(), "/convert/widgets.example.com", body).await
}

async fn converted(wanted: &str, objects: &[Value]) -> Vec<Value> {
    let answer = asked(wanted, objects).await;
    let response = answer.response();
    assert_eq!(response["result"], json!({"status": "Success"}));
    response["convertedObjects"].as_array().unwrap().clone()
}

async fn failure(wanted: &str, objects: &[Value]) -> String {
    let answer = asked(wanted, objects).await;
    let response = answer.response();
    assert_eq!(response["uid"], "u");
    assert_eq!(response["convertedObjects"], json!([]));
    assert_eq!(response["result"]["status"], "Failure");
    response["result"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_version_becomes_every_other() {
    let specs = [
        ("v1", json!({"size": 3, "parts": []})),
        ("v2", json!({"length": 3, "parts": []})),
        ("v3", json!({"text": "3"})),
    ];
    for (from, spec) in &specs {
        for (to, expected) in &specs {
            let object = widget(from, "a", spec);
            let result = converted(to, std::slice::from_ref(&object)).await;
            let mut wanted = object.clone();
            wanted["apiVersion"] = format!("example.com/{to}").into();
            wanted["spec"] = expected.clone();
            assert_eq!(result, [wanted], "{from} to {to}");
        }
    }
}

#[tokio::test]
async fn an_object_that_is_in_the_version_already_stays_as_it_is() {
    let object = widget("v2", "a", &json!({"length": "no number", "x": null}));
    let result = converted("v2", std::slice::from_ref(&object)).await;
    assert_eq!(result, [object]);
}

#[tokio::test]
async fn a_mixed_list_keeps_its_order() {
    let objects: Vec<Value> = (0..200)
        .map(|number| match number % 3 {
            0 => widget("v1", &format!("w{number}"), &json!({"size": number})),
            1 => widget("v2", &format!("w{number}"), &json!({"length": number})),
            _ => widget(
                "v3",
                &format!("w{number}"),
                &json!({"text": number.to_string()}),
            ),
        })
        .collect();
    let result = converted("v2", &objects).await;
    let lengths: Vec<_> = result.iter().map(|one| &one["spec"]["length"]).collect();
    let expected: Vec<Value> = (0..200).map(Value::from).collect();
    assert_eq!(lengths, expected.iter().collect::<Vec<_>>());
    assert_eq!(converted("v2", &[]).await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_the_types_do_not_know_survives() {
    let mut object = widget(
        "v1",
        "a",
        &json!({
            "size": 3, "unknown": {"deep": 1}, "nothing": null, "notes": ["lost on purpose"],
            "parts": [{"name": "p", "color": "red"}, {"name": "q"}],
        }),
    );
    object["status"] = json!({"ready": true});
    let [result] = &converted("v2", &[object]).await[..] else {
        panic!("there is one object");
    };
    assert_eq!(
        result["spec"],
        json!({
            "length": 3, "unknown": {"deep": 1},
            "parts": [{"name": "p", "color": "red"}, {"name": "q"}],
        }),
        "the type knows notes, and its version has none"
    );
    assert_eq!(result["status"], json!({"ready": true}));
}

#[test]
fn an_error_that_panics_when_it_is_told_fails_its_object_alone() {
    #[derive(Debug)]
    struct Rude;

    impl std::fmt::Display for Rude {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("as the test wants it")
        }
    }

    impl std::error::Error for Rude {}

    let conversion: Conversion = converting::<v1::Widget>()
        .spoke_by(
            |_: v2::Widget| Err::<v1::Widget, _>(Rude),
            |hub: v1::Widget| Ok::<_, Rude>(v2::Widget::from(hub)),
        )
        .into();
    let object = widget("v2", "a", &json!({"length": 1}));
    let error = conversion.convert(&object, "example.com/v1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the conversion of Widget blue/a from example.com/v2 to example.com/v1 panicked; the log of the webhook says where"
    );
}

#[tokio::test]
async fn labels_are_those_of_the_result_and_the_rest_of_the_metadata_stays() {
    let conversion: Conversion = converting::<v1::Widget>()
        .spoke_by(
            |mut spoke: v2::Widget| {
                spoke
                    .metadata
                    .labels
                    .get_or_insert_default()
                    .insert("new".into(), "yes".into());
                spoke.metadata.generation = Some(99);
                Ok::<_, String>(v1::Widget::from(spoke))
            },
            |hub: v1::Widget| {
                let mut spoke = v2::Widget::from(hub);
                spoke.metadata.name = Some("other".into());
                Ok::<_, String>(spoke)
            },
        )
        .into();
    let old = widget("v2", "a", &json!({"length": 3}));
    let new = conversion.convert(&old, "example.com/v1").unwrap();
    let mut expected = old["metadata"].clone();
    expected["labels"]["new"] = "yes".into();
    assert_eq!(new["metadata"], expected);
    let refused = conversion.convert(&new, "example.com/v2").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot convert Widget blue/a from example.com/v1 to example.com/v2: the conversion changes metadata.name"
    );
}

#[tokio::test]
async fn a_failure_names_the_object_and_says_why() {
    let good = widget("v1", "good", &json!({"size": 1}));
    for (object, wanted, message) in [
        (
            widget("v3", "a", &json!({"text": "three"})),
            "v1",
            "cannot convert Widget blue/a from example.com/v3 to example.com/v1: invalid digit found in string",
        ),
        (
            widget("v1", "a", &json!({"size": "secret"})),
            "v2",
            "cannot convert Widget blue/a from example.com/v1 to example.com/v2: cannot read object.spec.size: expected u32, found string",
        ),
        (
            widget("v3", "a", &json!({"text": "panic"})),
            "v1",
            "the conversion of Widget blue/a from example.com/v3 to example.com/v1 panicked; the log of the webhook says where",
        ),
        (
            widget("v9", "a", &json!({})),
            "v1",
            "cannot convert Widget blue/a: the webhook does not know the version example.com/v9, only example.com/v1, example.com/v2, example.com/v3",
        ),
        (
            widget("v1", "a", &json!({"size": 1})),
            "v9",
            "cannot convert Widget blue/good: the webhook does not know the version example.com/v9, only example.com/v1, example.com/v2, example.com/v3",
        ),
        (
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}),
            "v2",
            "cannot convert Gadget g: what is converted here is Widget",
        ),
        (json!("text"), "v2", "cannot convert what is not an object"),
        (
            json!({}),
            "v2",
            "cannot convert  without a name: the webhook does not know the version , only example.com/v1, example.com/v2, example.com/v3",
        ),
    ] {
        assert_eq!(failure(wanted, &[good.clone(), object]).await, message);
    }
}

#[tokio::test]
async fn a_conversion_that_takes_too_long_is_given_up() {
    let objects = [widget("v3", "a", &json!({"text": "slow"}))];
    let request = Request::post("/convert/widgets.example.com?timeout=100ms")
        .header("content-type", "application/json")
        .body(Full::from(review(&request("v1", &objects))))
        .unwrap();
    let answer = send(&webhooks(), request).await;
    assert_eq!(
        answer.response()["result"]["message"],
        "the webhook did not convert the 1 objects of request u before its deadline"
    );
}

#[tokio::test]
async fn a_review_of_an_older_protocol_is_answered_in_it() {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "ConversionReview",
        "request": request("v2", &[widget("v1", "a", &json!({"size": 1}))]),
    });
    let answer = post(
        &webhooks(),
        "/convert/widgets.example.com",
        review.to_string(),
    )
    .await;
    assert_eq!(answer.body["apiVersion"], "apiextensions.k8s.io/v1beta1");
    assert_eq!(
        answer.response()["convertedObjects"][0]["spec"]["length"],
        1
    );
}

#[tokio::test]
async fn what_is_no_review_is_refused_in_a_sentence() {
    let request = request("v1", &[]);
    let without = |field: &str| {
        let mut request = request.clone();
        request.as_object_mut().unwrap().remove(field);
        review(&request)
    };
    let kind = |api_version: &str, kind: &str| {
        json!({"apiVersion": api_version, "kind": kind, "request": request}).to_string()
    };
    let other =
        "not a ConversionReview of `apiextensions.k8s.io/v1` or `apiextensions.k8s.io/v1beta1`";
    for (body, message) in [
        (String::new(), "the body is empty".to_owned()),
        (
            "[]".into(),
            "the body is not the JSON of a ConversionReview: expected an object at byte 0".into(),
        ),
        (
            kind("admission.k8s.io/v1", "AdmissionReview"),
            format!("the body is kind `AdmissionReview` of `admission.k8s.io/v1`, {other}"),
        ),
        (
            kind("apiextensions.k8s.io/v2", "ConversionReview"),
            format!("the body is kind `ConversionReview` of `apiextensions.k8s.io/v2`, {other}"),
        ),
        (
            review(&Value::Null),
            "the ConversionReview has no request".into(),
        ),
        (
            without("uid"),
            "the request of the ConversionReview has no uid".into(),
        ),
        (
            without("desiredAPIVersion"),
            "the request of the ConversionReview has no desiredAPIVersion".into(),
        ),
    ] {
        let answer = post(&webhooks(), "/convert/widgets.example.com", body).await;
        assert_eq!((answer.code, answer.message()), (400, &*message));
    }
    let lost = post(&webhooks(), "/convert", review(&request)).await;
    assert_eq!(
        (lost.code, lost.message()),
        (
            404,
            "there is no webhook at /convert, only at /convert/widgets.example.com"
        )
    );
}

#[test]
fn versions_have_to_be_those_of_one_resource() {
    let check = |conversion: Conversion| {
        let checked = Webhooks::new("example.com").with(conversion).check();
        checked.map_err(|error| match error {
            DeclarationError::Conversion(why) => why.to_string(),
            other => other.to_string(),
        })
    };
    assert_eq!(check(conversion()), Ok(()));
    let none = |_| Err::<v1::Widget, _>("none");
    let other = converting::<v1::Widget>().spoke_by(
        |_: gadget::Widget| Ok::<_, String>(v1::Widget::default()),
        |_| Err("none"),
    );
    assert_eq!(
        check(other.into()),
        Err("`widgets.example.com` is not another version of `widgets.example.com`: their group, kind, plural name and scope have to be the same".into())
    );
    let twice = converting::<v1::Widget>().spoke_by(none, none);
    assert_eq!(
        check(twice.into()),
        Err("the version `v1` of `widgets.example.com` comes twice".into())
    );
    let stored = converting::<v1::Widget>()
        .spoke::<v2::Widget>()
        .stored("v7");
    assert_eq!(
        check(stored.into()),
        Err("`widgets.example.com` is to be stored as `v7`, which is none of its versions".into())
    );
    let both = Webhooks::new("example.com")
        .with(conversion())
        .with(conversion());
    assert_eq!(
        both.check(),
        Err(DeclarationError::TwoConversions(
            "widgets.example.com".into()
        ))
    );
    let clash = Webhooks::new("example.com")
        .with(validating("widgets", allow).at("/convert/widgets.example.com"))
        .with(conversion());
    assert!(matches!(
        clash.check(),
        Err(DeclarationError::PathClash { .. })
    ));
}

#[test]
fn a_definition_has_all_versions_and_stores_one() {
    let stored_by_hub: Conversion = converting::<v1::Widget>().spoke::<v2::Widget>().into();
    let stored_by_spoke: Conversion = converting::<v1::Widget>()
        .spoke::<v2::Widget>()
        .stored("v2")
        .review_versions([ConversionVersion::V1, ConversionVersion::V1Beta1])
        .at("/widgets")
        .into();
    for (conversion, stored) in [
        (&stored_by_hub, [true, false]),
        (&stored_by_spoke, [false, true]),
    ] {
        let definition = conversion.definition().unwrap();
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let names: Vec<_> = versions.iter().map(|version| &version["name"]).collect();
        assert_eq!(names, ["v1", "v2"]);
        let storage: Vec<_> = versions.iter().map(|version| &version["storage"]).collect();
        assert_eq!(storage, stored);
    }
    assert_eq!(
        stored_by_hub.api_versions(),
        ["example.com/v1", "example.com/v2"]
    );
    let declared = Webhooks::new("example.com")
        .with(stored_by_spoke)
        .conversions();
    assert_eq!(declared[0].path, "/widgets");
    assert_eq!(
        declared[0].review_versions,
        [ConversionVersion::V1, ConversionVersion::V1Beta1]
    );
}
