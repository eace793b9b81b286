//! The `review` crate, held to the bytes that a real API server sends.

use kubewright_review::{AdmissionReview, Body, Change, Image, Scope};
use serde_json::{Map, Value, json};

use crate::folder;

fn recorded() -> Vec<(String, Value, Body)> {
    let reviews =
        conformance::recording::read_reviews(&folder("recordings")).expect("recorded reviews");
    assert!(!reviews.is_empty(), "nothing is recorded");
    reviews
        .into_iter()
        .map(|(title, text)| {
            let value = serde_json::from_str(&text).expect("a real server sends JSON");
            let body = Body::new(text.into_bytes()).expect("a real server sends UTF-8");
            (title, value, body)
        })
        .collect()
}

#[test]
fn the_envelope_of_every_real_review_is_read_as_it_is() {
    for (title, value, body) in recorded() {
        let review = AdmissionReview::read(&body).expect(&title);
        let request = &value["request"];
        let text = |pointer: &str| {
            request
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let object = |text: Option<&str>| -> Value {
            text.map_or(Value::Null, |text| {
                serde_json::from_str(text).expect("a raw object")
            })
        };
        assert_eq!(
            review.version().api_version(),
            value["apiVersion"],
            "{title}"
        );
        assert_eq!(review.uid(), text("/uid"), "{title}");
        assert_eq!(review.operation().as_str(), text("/operation"), "{title}");
        assert_eq!(review.kind().kind, text("/kind/kind"), "{title}");
        assert_eq!(
            review.resource().resource,
            text("/resource/resource"),
            "{title}"
        );
        assert_eq!(
            review.request_resource().resource,
            text("/requestResource/resource"),
            "{title}"
        );
        assert_eq!(review.sub_resource(), text("/subResource"), "{title}");
        assert_eq!(review.name(), text("/name"), "{title}");
        assert_eq!(review.namespace(), text("/namespace"), "{title}");
        assert_eq!(Value::from(review.dry_run()), request["dryRun"], "{title}");
        assert_eq!(object(review.object()), request["object"], "{title}");
        assert_eq!(object(review.old_object()), request["oldObject"], "{title}");
        assert_eq!(object(review.options()), request["options"], "{title}");
    }
}

#[test]
fn an_annotation_for_every_real_object_is_a_patch_that_gives_exactly_it() {
    let mut patched = 0;
    for (title, _, body) in recorded() {
        let (review, change) =
            AdmissionReview::read_typed::<Map<String, Value>>(&body, Scope::Object).expect(&title);
        let Ok(Change::Create(object) | Change::Update { new: object, .. }) = change else {
            continue;
        };
        let before = Image::of(&object, 0).expect(&title);
        let same = review
            .graft(&before, &before.then(&object).expect(&title))
            .expect(&title);
        assert!(
            same.is_empty(),
            "{title}: nothing changed, and yet there is a patch"
        );

        let mut wanted = Value::Object(object);
        wanted["metadata"]["annotations"]["conformance"] = json!("seen");
        let patch = review
            .graft(&before, &before.then(&wanted).expect(&title))
            .expect(&title);
        let changed = review.changed_by(&patch).expect(&title);
        let changed: Value = serde_json::from_str(changed.object().expect(&title)).expect("JSON");
        let mut exactly: Value =
            serde_json::from_str(review.object().expect(&title)).expect("JSON");
        exactly["metadata"]["annotations"]["conformance"] = json!("seen");
        assert_eq!(changed, exactly, "{title}");
        patched += 1;
    }
    assert!(patched > 0, "no recorded review carries an object");
}
