//! Predicates against their definition, and the laws that hold for them.

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::Entry;
use crate::informer::Origin;

thread_local! {
    static DECODED: Cell<u32> = const { Cell::new(0) };
}

/// An object that counts how often it is decoded.
#[derive(Debug)]
struct Counted(Value);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DECODED.set(DECODED.get() + 1);
        Value::deserialize(deserializer).map(Self)
    }
}

fn object() -> Value {
    json!({
        "metadata": {"name": "a", "uid": "1", "resourceVersion": "1", "generation": 1,
            "labels": {"a": "a"}, "annotations": {"a": "a"}, "finalizers": ["a/a"]},
        "spec": {"a": "a"},
        "status": {"a": "a"},
    })
}

fn entry(object: &Value) -> Arc<Entry> {
    Arc::new(Entry::read(&object.to_string()).unwrap())
}

fn changed(pointer: &str, value: Value) -> Delta {
    let mut new = object();
    new["metadata"]["resourceVersion"] = "2".into();
    new["metadata"]["deletionTimestamp"] = Value::Null;
    *new.pointer_mut(pointer).unwrap() = value;
    Delta {
        old: Some(entry(&object())),
        new: Some(entry(&new)),
        origin: Origin::Watch,
    }
}

fn created(delta: &Delta) -> Delta {
    Delta {
        old: None,
        ..delta.clone()
    }
}

fn deleted(delta: &Delta) -> Delta {
    Delta {
        new: None,
        ..delta.clone()
    }
}

fn matches(predicate: &Predicate<Counted>, delta: &Delta) -> bool {
    let matches = predicate.matches(&Decoded::new(delta)).unwrap();
    if let Some(decided) = predicate.decide(delta) {
        assert_eq!(decided, matches, "{predicate:?}");
    }
    matches
}

type Make = fn() -> Predicate<Counted>;

const PARTS: [(Make, &str); 4] = [
    (Predicate::generation_changed, "/metadata/generation"),
    (Predicate::labels_changed, "/metadata/labels/a"),
    (Predicate::annotations_changed, "/metadata/annotations/a"),
    (Predicate::content_changed, "/spec/a"),
];

fn other_value(pointer: &str) -> Value {
    match pointer {
        "/metadata/generation" => json!(2),
        _ => json!("b"),
    }
}

#[test]
fn each_predicate_matches_its_part_alone() {
    for (number, (part, pointer)) in PARTS.iter().enumerate() {
        let delta = changed(pointer, other_value(pointer));
        assert!(matches(&part(), &delta), "{pointer}");
        assert!(!matches(&part().not(), &delta), "{pointer}");
        assert!(matches(&Predicate::any_change(), &delta), "{pointer}");
        for (_, (other, _)) in PARTS.iter().enumerate().filter(|(at, _)| *at != number) {
            assert!(!matches(&other(), &delta), "{pointer}");
            assert!(matches(&other().or(part()), &delta), "{pointer}");
            assert!(!matches(&other().and(part()), &delta), "{pointer}");
        }
    }
}

#[test]
fn only_any_change_matches_a_status() {
    let delta = changed("/status/a", json!("b"));
    assert!(matches(&Predicate::any_change(), &delta));
    for (part, pointer) in PARTS {
        assert!(!matches(&part(), &delta), "{pointer}");
    }
}

#[test]
fn nothing_filters_out_what_a_controller_needs_to_clean_up() {
    let nothing = Predicate::updated(|_: &Counted, _| false)
        .and(Predicate::any_change().not())
        .and(Predicate::object(|_| false));
    for (pointer, value) in [
        ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ("/metadata/finalizers", json!([])),
        ("/metadata/uid", json!("2")),
    ] {
        assert!(matches(&nothing, &changed(pointer, value)), "{pointer}");
    }
    let time = json!("2026-01-01T00:00:00Z");
    let found = created(&changed("/metadata/deletionTimestamp", time));
    assert!(matches(&nothing, &found));

    let delta = changed("/status/a", json!("b"));
    for delta in [created(&delta), deleted(&delta), delta] {
        assert!(!matches(&nothing, &delta));
    }
}

#[test]
fn a_change_matches_in_which_no_condition_has_a_say() {
    let delta = changed("/status/a", json!("b"));
    let (created, deleted) = (created(&delta), deleted(&delta));
    for predicate in [
        Predicate::labels_changed(),
        Predicate::any_change().not(),
        Predicate::updated(|_, _| false).and(Predicate::generation_changed()),
    ] {
        assert!(matches(&predicate, &created), "{predicate:?}");
        assert!(matches(&predicate, &deleted), "{predicate:?}");
        assert!(!matches(&predicate, &delta), "{predicate:?}");
    }
    let only_new_ones = Predicate::deleted(|_| false).and(Predicate::any_change().not());
    assert!(matches(&only_new_ones, &created));
    assert!(!matches(&only_new_ones, &deleted));
    assert!(!matches(&only_new_ones, &delta));
}

#[test]
fn closures_see_the_object_of_their_change() {
    let is_new = |object: &Counted| object.0["spec"]["a"] == "b";
    let delta = changed("/spec/a", json!("b"));
    let grows = Predicate::updated(move |old: &Counted, new: &Counted| !is_new(old) && is_new(new));
    assert!(matches(&grows, &delta));
    assert!(matches(&Predicate::created(is_new), &created(&delta)));
    assert!(!matches(&Predicate::deleted(is_new), &deleted(&delta)));
    // Before or after the update.
    assert!(matches(&Predicate::object(is_new), &delta));
    assert!(matches(
        &Predicate::object(move |object| !is_new(object)),
        &delta
    ));
    assert!(matches(&Predicate::object(is_new), &created(&delta)));
    assert!(!matches(&Predicate::object(is_new), &deleted(&delta)));
    assert!(!matches(&Predicate::object(|_| false), &delta));
}

#[test]
fn an_object_is_decoded_once_and_only_for_a_closure_that_decides() {
    let decoded = |predicate: &Predicate<Counted>, delta: &Delta| {
        DECODED.set(0);
        let matches = predicate.matches(&Decoded::new(delta)).unwrap();
        (matches, DECODED.get())
    };
    let asks = || Predicate::updated(|_: &Counted, _: &Counted| true);
    let delta = changed("/status/a", json!("b"));
    let cheap = [
        Predicate::generation_changed(),
        asks().and(Predicate::generation_changed()),
        Predicate::generation_changed()
            .and(asks())
            .and(asks().not()),
    ];
    for predicate in &cheap {
        assert_eq!(decoded(predicate, &delta), (false, 0), "{predicate:?}");
        assert_eq!(predicate.decide(&delta), Some(false));
    }
    let any = asks().or(Predicate::any_change());
    assert_eq!(decoded(&any, &delta), (true, 0));
    let twice = asks()
        .and(Predicate::object(|_| false).or(asks()))
        .and(asks());
    assert_eq!(decoded(&twice, &delta), (true, 2));
    assert_eq!(twice.decide(&delta), None);
    // Who has no say is not asked.
    assert_eq!(decoded(&twice, &created(&delta)), (false, 1));
    assert_eq!(decoded(&asks(), &created(&delta)), (true, 0));
    assert_eq!(asks().decide(&created(&delta)), Some(true));
}

#[test]
fn what_cannot_be_decoded_is_an_error_for_a_closure_and_for_nothing_else() {
    #[derive(Deserialize)]
    struct Strict {
        #[serde(rename = "spec")]
        _spec: u8,
    }
    let delta = changed("/spec/a", json!("b"));
    let asks = || Predicate::updated(|_: &Strict, _: &Strict| false);
    assert!(asks().matches(&Decoded::new(&delta)).is_err());
    let cheap = asks().or(Predicate::content_changed());
    assert!(cheap.matches(&Decoded::new(&delta)).unwrap());
}

/// A predicate as a tree, for a second opinion on it.
#[derive(Clone, Debug)]
enum Tree {
    Part(usize),
    Any,
    Created(bool),
    Deleted(bool),
    /// Whether the field of the spec has this value.
    Object(bool),
    /// Whether the field of the spec, before or after, has this value.
    Updated(bool, bool),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

fn is_changed(object: &Value) -> bool {
    object["spec"]["a"] == "b"
}

impl Tree {
    fn predicate(&self) -> Predicate<Counted> {
        match self.clone() {
            Self::Part(number) => PARTS[number].0(),
            Self::Any => Predicate::any_change(),
            Self::Created(is) => {
                Predicate::created(move |object: &Counted| is_changed(&object.0) == is)
            }
            Self::Deleted(is) => {
                Predicate::deleted(move |object: &Counted| is_changed(&object.0) == is)
            }
            Self::Object(is) => {
                Predicate::object(move |object: &Counted| is_changed(&object.0) == is)
            }
            Self::Updated(of_old, is) => Predicate::updated(move |old: &Counted, new: &Counted| {
                is_changed(if of_old { &old.0 } else { &new.0 }) == is
            }),
            Self::Not(inner) => inner.predicate().not(),
            Self::And(one, other) => one.predicate().and(other.predicate()),
            Self::Or(one, other) => one.predicate().or(other.predicate()),
        }
    }

    /// What it says, by its definition.
    fn says(&self, old: Option<&Value>, new: Option<&Value>) -> Option<bool> {
        let both = old.zip(new);
        match self {
            Self::Any => both.map(|_| true),
            Self::Part(number) => both.map(|(old, new)| {
                let pointer = PARTS[*number].1;
                old.pointer(pointer) != new.pointer(pointer)
            }),
            Self::Created(is) => (old.is_none()).then(|| is_changed(new.unwrap()) == *is),
            Self::Deleted(is) => (new.is_none()).then(|| is_changed(old.unwrap()) == *is),
            Self::Object(is) => {
                let mut objects = old.into_iter().chain(new);
                Some(objects.any(|object| is_changed(object) == *is))
            }
            Self::Updated(of_old, is) => {
                both.map(|(old, new)| is_changed(if *of_old { old } else { new }) == *is)
            }
            Self::Not(inner) => inner.says(old, new).map(|says| !says),
            Self::And(one, other) => match (one.says(old, new), other.says(old, new)) {
                (Some(one), Some(other)) => Some(one && other),
                (one, other) => one.or(other),
            },
            Self::Or(one, other) => match (one.says(old, new), other.says(old, new)) {
                (Some(one), Some(other)) => Some(one || other),
                (one, other) => one.or(other),
            },
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0..PARTS.len()).prop_map(Tree::Part),
        Just(Tree::Any),
        any::<bool>().prop_map(Tree::Created),
        any::<bool>().prop_map(Tree::Deleted),
        any::<bool>().prop_map(Tree::Object),
        any::<(bool, bool)>().prop_map(|(of_old, is)| Tree::Updated(of_old, is)),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let two = || (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|inner| Tree::Not(inner.into())),
            two().prop_map(|(one, other)| Tree::And(one.into(), other.into())),
            two().prop_map(|(one, other)| Tree::Or(one.into(), other.into())),
        ]
    })
}

/// An object before and after a change of any of its parts, or a new one, or one that is gone.
fn change() -> impl Strategy<Value = (Option<Value>, Option<Value>)> {
    let parts = proptest::collection::vec(any::<bool>(), PARTS.len() + 2);
    (parts, any::<bool>(), 0..6).prop_map(|(parts, is_swapped, which)| {
        let mut new = object();
        for (is_other, (_, pointer)) in parts.iter().zip(PARTS) {
            if *is_other {
                *new.pointer_mut(pointer).unwrap() = other_value(pointer);
            }
        }
        if parts[PARTS.len()] {
            new["status"]["a"] = "b".into();
        }
        if parts[PARTS.len() + 1] && which == 5 {
            new["metadata"]["finalizers"] = json!([]);
        }
        let (old, new) = if is_swapped {
            (new, object())
        } else {
            (object(), new)
        };
        match which {
            0 => (None, Some(new)),
            1 => (Some(old), None),
            _ => (Some(old), Some(new)),
        }
    })
}

fn delta((old, new): &(Option<Value>, Option<Value>)) -> Delta {
    Delta {
        old: old.as_ref().map(entry),
        new: new.as_ref().map(entry),
        origin: Origin::Watch,
    }
}

proptest! {
    #[test]
    fn a_predicate_matches_what_its_definition_says(tree in tree(), change in change()) {
        let (old, new) = &change;
        let finalizers = |object: &Option<Value>| Some(object.as_ref()?["metadata"]["finalizers"].clone());
        let is_protected = old.is_some() && new.is_some() && finalizers(old) != finalizers(new);
        let expected = is_protected || tree.says(old.as_ref(), new.as_ref()).unwrap_or(true);
        prop_assert_eq!(matches(&tree.predicate(), &delta(&change)), expected);
    }

    #[test]
    fn the_laws_of_and_or_and_not_hold(
        (a, b, c) in (tree(), tree(), tree()),
        change in change(),
    ) {
        let delta = delta(&change);
        let (a, b, c) = (|| a.predicate(), || b.predicate(), || c.predicate());
        let law = |law: &str, one: &Predicate<Counted>, other: &Predicate<Counted>| {
            prop_assert_eq!(matches(one, &delta), matches(other, &delta), "{}: {:?}, {:?}", law, one, other);
            // What is equal is so inside of others, too.
            let (one, other) = (one.clone().not().and(c()), other.clone().not().and(c()));
            prop_assert_eq!(matches(&one, &delta), matches(&other, &delta), "{} within", law);
            Ok(())
        };
        law("idempotence of and", &a().and(a()), &a())?;
        law("idempotence of or", &a().or(a()), &a())?;
        law("double negation", &a().not().not(), &a())?;
        law("order of and", &a().and(b()), &b().and(a()))?;
        law("order of or", &a().or(b()), &b().or(a()))?;
        law("grouping of and", &a().and(b()).and(c()), &a().and(b().and(c())))?;
        law("grouping of or", &a().or(b()).or(c()), &a().or(b().or(c())))?;
        law("De Morgan's of and", &a().and(b()).not(), &a().not().or(b().not()))?;
        law("De Morgan's of or", &a().or(b()).not(), &a().not().and(b().not()))?;
    }
}
