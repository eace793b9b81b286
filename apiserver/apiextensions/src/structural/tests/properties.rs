//! What holds for every schema and every object.

use kubewright_apimachinery::field::Path;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::{Change, Structural, check};

/// A schema without bounds, and a value that it allows.
#[derive(Clone, Debug)]
struct Fitting {
    schema: Value,
    value: Value,
}

fn fitting() -> impl Strategy<Value = Fitting> {
    let scalar = prop_oneof![
        "[a-z]{0,3}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        any::<i32>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        any::<bool>().prop_map(|truth| (json!({"type": "boolean"}), json!(truth))),
        any::<i32>()
            .prop_map(|number| (json!({"x-kubernetes-int-or-string": true}), json!(number))),
        "[a-c]{1}".prop_map(|text| (json!({"type": "string", "default": "d"}), json!(text))),
        Just((json!({"type": "string", "nullable": true}), Value::Null)),
    ];
    let leaf = scalar.prop_map(|(schema, value)| Fitting { schema, value });
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            fields(inner.clone()),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| {
                let schema = json!({"type": "array", "items": parts[0].schema});
                let value = json!([parts[0].value, parts[0].value]);
                Fitting { schema, value }
            }),
            ("[a-c]{1,2}", inner).prop_map(|(key, part)| Fitting {
                schema: json!({"type": "object", "additionalProperties": part.schema}),
                value: json!({key: part.value}),
            }),
        ]
    })
}

fn fields(inner: impl Strategy<Value = Fitting> + Clone) -> impl Strategy<Value = Fitting> {
    prop::collection::btree_map("[a-e]", (inner, any::<bool>()), 1..4).prop_map(|fields| {
        let (mut properties, mut value) = (Map::new(), Map::new());
        for (name, (part, given)) in fields {
            properties.insert(name.clone(), part.schema);
            if given {
                value.insert(name, part.value);
            }
        }
        Fitting {
            schema: json!({"type": "object", "properties": properties}),
            value: Value::Object(value),
        }
    })
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-f]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-f]", inner, 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// What looks like a schema, and is mostly none.
fn nearly_a_schema() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 16] = [
        "type",
        "properties",
        "items",
        "additionalProperties",
        "anyOf",
        "not",
        "default",
        "required",
        "enum",
        "pattern",
        "nullable",
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-embedded-resource",
        "metadata",
    ];
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "object", "array", "string", "integer", "map", "set", "(", "self.a"
        ])
        .prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        Just(json!([{"rule": "self.a == oldSelf.a", "fieldPath": ".a['b"}])),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(WORDS.to_vec()), inner, 0..6)
                .prop_map(|members| {
                    let members = members
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value));
                    members.collect::<Map<_, _>>().into()
                }),
        ]
    })
}

fn root(part: &Fitting) -> (Structural, Value) {
    let schema = json!({"type": "object", "properties": {"spec": part.schema}});
    (Structural::read(&schema), json!({"spec": part.value}))
}

fn errors(schema: &Structural, new: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    let change = Change {
        new,
        old: None,
        status: false,
    };
    schema.validate(change, &mut errors);
    schema.validate_rules(change, &mut errors);
    errors.iter().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_object_that_fits_is_left_as_it_is_and_is_valid(part in fitting()) {
        let (schema, object) = root(&part);
        let mut pruned = object.clone();
        prop_assert_eq!(schema.prune(&mut pruned), Ok(Vec::new()));
        prop_assert_eq!(&pruned, &object);
        schema.default(&mut pruned);
        prop_assert_eq!(errors(&schema, &pruned), Vec::<String>::new());
    }

    #[test]
    fn what_is_added_to_an_object_goes_again(part in fitting(), extra in anything()) {
        let (schema, object) = root(&part);
        let mut more = object.clone();
        more["unknown"] = extra;
        prop_assert_eq!(schema.prune(&mut more), Ok(vec!["unknown".to_owned()]));
        prop_assert_eq!(more, object);
    }

    #[test]
    fn pruning_and_defaults_end_at_the_first_turn(part in fitting(), other in anything()) {
        let (schema, _) = root(&part);
        let mut object = json!({"spec": other});
        schema.prune(&mut object).expect("no objects inside");
        let pruned = object.clone();
        prop_assert_eq!(schema.prune(&mut object), Ok(Vec::new()));
        prop_assert_eq!(&object, &pruned);
        schema.default(&mut object);
        let filled = object.clone();
        schema.default(&mut object);
        prop_assert_eq!(object, filled);
    }

    #[test]
    fn an_object_that_has_not_changed_has_no_errors(part in fitting(), other in anything()) {
        let (schema, _) = root(&part);
        let mut object = json!({"spec": other});
        schema.prune(&mut object).expect("no objects inside");
        let mut found = Vec::new();
        let change = Change { new: &object, old: Some(&object), status: false };
        schema.validate(change, &mut found);
        prop_assert!(found.is_empty(), "{:?}", found);
    }

    #[test]
    fn no_schema_and_no_object_breaks_anything(schema in nearly_a_schema(), object in anything()) {
        check(&schema, &Path::new("schema"), true);
        let read = Structural::read(&schema);
        let mut object = json!({"spec": object});
        let _ = read.prune(&mut object);
        read.default(&mut object);
        errors(&read, &object);
    }
}
