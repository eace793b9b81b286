//! Reviews as an API server sends them, and the answers to them.

use kubewright_review::{
    AdmissionReview, Body, Change, Image, LintError, MayChange, Operation, Patch, ReadError,
    Response, Scope, Status, StatusCause, Version,
};
use serde_json::{Value, json};

fn fixture(name: &str) -> Body {
    let path = format!("{}/fixtures/v1.36/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Body::new(std::fs::read(path).unwrap()).unwrap()
}

fn read(name: &str) -> AdmissionReview {
    AdmissionReview::read(&fixture(name)).unwrap()
}

#[test]
fn every_field_of_the_envelope_is_read() {
    let review = read("update-deployment-scale");
    assert_eq!(review.version(), Version::V1);
    assert_eq!(review.uid(), "2f0c1d3e-7a52-4b0c-9f0e-51a7d9c3b6aa");
    assert_eq!(review.operation(), Operation::Update);
    let kind = review.kind();
    assert_eq!(
        (kind.group, kind.version, kind.kind),
        ("autoscaling", "v1", "Scale")
    );
    assert_eq!(review.request_kind(), kind);
    let resource = review.resource();
    assert_eq!(
        (resource.group, resource.version, resource.resource),
        ("apps", "v1", "deployments")
    );
    assert_eq!(review.request_resource(), resource);
    assert_eq!(
        (review.sub_resource(), review.request_sub_resource()),
        ("scale", "scale")
    );
    assert_eq!((review.namespace(), review.name()), ("default", "web"));
    assert!(!review.dry_run());
    let json = |text: Option<&str>| serde_json::from_str::<Value>(text.unwrap()).unwrap();
    assert_eq!(json(review.user_info())["username"], "kubernetes-admin");
    assert_eq!(json(review.options())["kind"], "UpdateOptions");
    assert_eq!(json(review.object())["spec"]["replicas"], 5);
    assert_eq!(json(review.old_object())["spec"]["replicas"], 1);
}

#[test]
fn what_is_null_or_missing_is_not_there() {
    let review = read("delete-pod");
    assert_eq!(review.object(), None);
    assert!(review.old_object().is_some());
    let review = read("connect-pod-exec");
    assert_eq!(review.options(), None);
    assert_eq!(review.old_object(), None);
    let review = read("create-pod");
    assert_eq!(review.name(), "");
    assert_eq!(review.old_object(), None);
}

#[test]
fn the_order_of_fields_and_escapes_in_them_do_not_matter() {
    let body = r#"{"request":{"object":{"a":1},"operation":"CREATE","name":"a\u0062c","uid":"u\"1"},
        "\u006bind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}"#;
    let review = AdmissionReview::read(&Body::new(body.into()).unwrap()).unwrap();
    assert_eq!(review.version(), Version::V1Beta1);
    assert_eq!((review.uid(), review.name()), ("u\"1", "abc"));
    assert_eq!(review.object(), Some(r#"{"a":1}"#));
    let answer = Response::new(review.version(), review.uid()).to_json();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(
        answer,
        json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {"uid": "u\"1", "allowed": true}})
    );
}

#[test]
fn managed_fields_are_neither_read_nor_removed() {
    let (review, change) =
        AdmissionReview::read_typed::<Value>(&fixture("create-pod"), Scope::Object).unwrap();
    let Ok(Change::Create(mut pod)) = change else {
        panic!("{change:?}");
    };
    assert!(pod["metadata"].get("managedFields").is_none());
    let before = Image::of(&pod, 0).unwrap();
    pod["metadata"]["labels"]["x"] = "y".into();
    let patch = review.graft(&before, &before.then(&pod).unwrap()).unwrap();
    assert_eq!(
        String::from_utf8(patch.to_json()).unwrap(),
        r#"[{"op":"add","path":"/metadata/labels/x","value":"y"}]"#
    );
    let changed = review.changed_by(&patch).unwrap();
    let changed: Value = serde_json::from_str(changed.object().unwrap()).unwrap();
    assert_eq!(
        changed["metadata"]["managedFields"][0]["manager"],
        "kube-controller-manager"
    );
}

#[test]
fn metadata_alone_leaves_the_rest_unread() {
    let (_, change) =
        AdmissionReview::read_typed::<Value>(&fixture("update-pod"), Scope::Metadata).unwrap();
    let Ok(Change::Update { old, new }) = change else {
        panic!("{change:?}");
    };
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&old), ["apiVersion", "kind", "metadata"]);
    assert_eq!(keys(&new), ["apiVersion", "kind", "metadata"]);
}

#[test]
fn an_error_names_the_field_and_never_its_value() {
    #[derive(Debug, serde::Deserialize)]
    struct Pod {
        #[serde(rename = "spec")]
        _spec: Spec,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Spec {
        #[serde(rename = "containers")]
        _containers: Vec<Container>,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Container {
        #[serde(rename = "image")]
        _image: u8,
    }
    let (_, change) =
        AdmissionReview::read_typed::<Pod>(&fixture("create-pod"), Scope::Object).unwrap();
    let error = change.unwrap_err();
    assert_eq!(error.place(), "object.spec.containers[0].image");
    assert_eq!(
        error.to_string(),
        "cannot read object.spec.containers[0].image: expected u8, found string"
    );
}

#[test]
fn a_deep_object_is_unreadable_and_not_an_overflow() {
    let nested = |depth: usize| {
        let deep = r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth);
        let body = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE","object":{deep}}}}}"#
        );
        AdmissionReview::read_typed::<Value>(&Body::new(body.into_bytes()).unwrap(), Scope::Object)
    };
    assert!(nested(128).unwrap().1.is_ok());
    let error = nested(129).unwrap().1.unwrap_err().to_string();
    assert!(
        error.ends_with("values are nested more than 128 levels deep"),
        "{error}"
    );
    assert!(matches!(nested(20_000), Err(ReadError::NotJson(_))));
}

#[test]
fn an_answer_carries_everything_once() {
    let mut status = Status::default();
    (status.code, status.message) = (422, "two\n\"lines\"".to_owned());
    "Invalid".clone_into(&mut status.reason);
    let mut cause = StatusCause::default();
    ("spec", "bad").0.clone_into(&mut cause.field);
    status.causes = vec![cause.clone(), StatusCause::default()];
    let warnings = ["a".to_owned(), "b".to_owned()];
    let annotations = [("k".to_owned(), "v".to_owned())];
    let answer = Response::new(Version::V1, "u")
        .denied(&status)
        .warnings(&warnings)
        .audit_annotations(&annotations)
        .to_json();
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":false,"status":{"metadata":{},"status":"Failure","message":"two\n\"lines\"","reason":"Invalid","details":{"causes":[{"field":"spec"},{}]},"code":422},"warnings":["a","b"],"auditAnnotations":{"k":"v"}}}"#
    );
}

#[test]
fn the_linter_finds_what_the_api_server_would_refuse() {
    let review = read("update-pod");
    let value: Value = serde_json::from_str(review.object().unwrap()).unwrap();
    let mut after = value.clone();
    after["spec"]["containers"][0]["image"] = "other".into();
    let before = Image::of(&value, 0).unwrap();
    let patch = review
        .graft(&before, &before.then(&after).unwrap())
        .unwrap();
    let answer = || Response::new(review.version(), review.uid()).patch(&patch);
    assert_eq!(answer().lint(&review, MayChange::Yes), Ok(()));
    assert_eq!(
        answer().lint(&review, MayChange::No),
        Err(LintError::PatchOfValidator)
    );
    let other = Response::new(Version::V1, "other").lint(&review, MayChange::Yes);
    assert_eq!(other, Err(LintError::Uid));
    let other = Response::new(Version::V1Beta1, review.uid()).lint(&review, MayChange::Yes);
    assert_eq!(other, Err(LintError::Version));
    let deleted = read("delete-pod");
    assert!(matches!(
        answer().lint(&deleted, MayChange::Yes),
        Err(LintError::Patch(_))
    ));
    let exec = read("connect-pod-exec");
    assert!(matches!(
        answer().lint(&exec, MayChange::Yes),
        Err(LintError::Patch(_))
    ));
    assert!(Patch::default().is_empty());
}

#[test]
fn nothing_of_an_object_is_in_debug_output() {
    let text = format!("{:?} {:?}", read("create-pod"), fixture("create-pod"));
    assert!(
        !text.contains("nginx") && !text.contains("checkout-database"),
        "{text}"
    );
}
