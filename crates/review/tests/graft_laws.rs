//! What holds for every object and every change.

use kubewright_review::{AdmissionReview, Body, Change, Image, Patch, Scope};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::model::{Thing, changes, decisions, raw, thing};
use crate::reference;

/// A review that creates an object.
pub(crate) fn review(object: &Value) -> Body {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": "CREATE", "object": object},
    });
    Body::new(review.to_string().into_bytes()).unwrap()
}

/// The patch that a handler's change makes of a raw object.
fn patch(object: &Value, change: impl FnOnce(&mut Thing)) -> (AdmissionReview, Patch) {
    let (review, thing) =
        AdmissionReview::read_typed::<Thing>(&review(object), Scope::Object).unwrap();
    let Ok(Change::Create(mut thing)) = thing else {
        panic!("{thing:?}");
    };
    let before = Image::of(&thing, 0).unwrap();
    change(&mut thing);
    let after = before.then(&thing).unwrap();
    let patch = review.graft(&before, &after).unwrap();
    review.check(&patch).unwrap();
    (review, patch)
}

/// The object as another implementation of JSON Patch makes it.
fn patched(object: &Value, patch: &Patch) -> Value {
    let mut patched = object.clone();
    let patch: json_patch::Patch = serde_json::from_slice(&patch.to_json()).unwrap();
    json_patch::patch(&mut patched, &patch).unwrap();
    patched
}

fn changed(thing: &Thing, changes: &[crate::model::Change]) -> Thing {
    let mut thing = thing.clone();
    for change in changes {
        change.clone().apply(&mut thing);
    }
    thing
}

/// A thousand cases of each law, unless `PROPTEST_CASES` sets another number: a million take minutes in release.
fn thorough() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config.cases,
        None => 1000,
    };
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(thorough())]

    #[test]
    fn an_unchanged_object_gives_no_patch(thing in thing(), decisions in decisions()) {
        let (_, patch) = patch(&raw(&thing, &decisions), |_| ());
        prop_assert!(patch.is_empty());
    }

    #[test]
    fn the_patch_makes_exactly_the_grafted_object(
        thing in thing(), changes in changes(), decisions in decisions(),
    ) {
        let raw = raw(&thing, &decisions);
        let before: Thing = serde_json::from_value(raw.clone()).unwrap();
        let after = changed(&before, &changes);
        let (review, patch) = patch(&raw, |thing| *thing = after.clone());
        let patched = patched(&raw, &patch);
        let expected = reference::graft(
            "", &raw, &serde_json::to_value(&before).unwrap(), &serde_json::to_value(&after).unwrap(),
        );
        prop_assert_eq!(&patched, &expected, "{}", String::from_utf8(patch.to_json()).unwrap());
        let own = review.changed_by(&patch).unwrap();
        let own: Value = serde_json::from_str(own.object().unwrap()).unwrap();
        prop_assert_eq!(&own, &expected);
    }

    #[test]
    fn the_patched_object_reads_as_what_the_handler_returned(
        thing in thing(), changes in changes(), decisions in decisions(),
    ) {
        let raw = raw(&thing, &decisions);
        let before: Thing = serde_json::from_value(raw.clone()).unwrap();
        let after = changed(&before, &changes);
        let (_, patch) = patch(&raw, |thing| *thing = after.clone());
        let read: Thing = serde_json::from_value(patched(&raw, &patch)).unwrap();
        prop_assert_eq!(normal(read), normal(after));
    }

    #[test]
    fn the_second_run_of_an_idempotent_handler_gives_no_patch(
        thing in thing(), changes in changes(), decisions in decisions(),
    ) {
        let raw = raw(&thing, &decisions);
        let before: Thing = serde_json::from_value(raw.clone()).unwrap();
        let after = changed(&before, &changes);
        let (_, first) = patch(&raw, |thing| *thing = after.clone());
        let patched = patched(&raw, &first);
        let (_, second) = patch(&patched, |thing| *thing = serde_json::from_value(serde_json::to_value(&*thing).unwrap()).unwrap());
        prop_assert!(second.is_empty());
        let read: Thing = serde_json::from_value(patched.clone()).unwrap();
        if read == after {
            let (_, second) = patch(&patched, |thing| *thing = after.clone());
            prop_assert!(second.is_empty());
        }
    }
}

/// A type that leaves empty maps out of its serialization cannot tell them from missing ones.
fn normal(mut thing: Thing) -> Thing {
    for meta in [&mut thing.metadata, &mut thing.template.metadata] {
        meta.labels = meta.labels.take().filter(|labels| !labels.is_empty());
    }
    let containers = thing.spec.iter_mut().flat_map(|spec| &mut spec.containers);
    for container in containers {
        container.ports = container.ports.take().filter(|ports| !ports.is_empty());
    }
    thing
}
