//! Expressions are checked against the types of their kind.

use k8s_openapi::api::core::v1::Pod;
use kubewright_policy::{Policy, Schema, Typed};
use serde_json::{Value, json};

fn definition() -> Value {
    json!({"spec": {"names": {"kind": "Garden"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "beds": {"type": "array", "items": {"type": "object", "properties": {"plants": {"type": "integer"}}}},
                    "port": {"x-kubernetes-int-or-string": true},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "x-dash": {"type": "string"},
                    "ratio": {"type": "number"},
                },
            },
        },
    }}}]}})
}

fn mistakes(expression: &str) -> Vec<String> {
    let schema = Schema::of_definition(&definition(), "v1").unwrap();
    // The schema is what counts here, and not the type.
    let policy = Policy::<Pod>::validating("gardens").rule(expression, "no");
    let mistakes = policy.check(&Typed::object(schema));
    mistakes.into_iter().map(|mistake| mistake.error).collect()
}

#[test]
fn fields_that_the_kind_has_are_accepted() {
    for expression in [
        "object.spec.beds.all(bed, bed.plants < 10)",
        "object.spec.port == 80 || object.spec.port == 'http'",
        "object.spec.any.anything.at.all == 1",
        "object.spec.x__dash__dash == ''",
        "object.metadata.labels['a'] == 'b' && object.metadata.generation > 1",
        "oldObject == null || oldObject.spec.beds.size() == object.spec.beds.size()",
        "object.kind == 'Garden' && object.apiVersion.startsWith('example.com/')",
        "object.spec.ratio > 1",
        "object.?spec.?beds.orValue([]).size() < 3",
    ] {
        assert_eq!(mistakes(expression), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn fields_that_the_kind_does_not_have_are_found() {
    for (expression, error) in [
        ("object.spec.bets.size() > 1", "undefined field 'bets'"),
        (
            "object.spec.beds.all(bed, bed.plant < 10)",
            "undefined field 'plant'",
        ),
        ("oldObject.spce == null", "undefined field 'spce'"),
        (
            "object.metadata.lables.size() > 1",
            "undefined field 'lables'",
        ),
        (
            "object.spec.beds[0].plants == 'many'",
            "no matching overload for '_==_' applied to '(int, string)'",
        ),
    ] {
        let found = mistakes(expression);
        assert_eq!(found.len(), 1, "{expression}: {found:?}");
        assert!(found[0].contains(error), "{expression}: {found:?}");
    }
}

#[test]
fn parameters_have_types_of_their_own() {
    let schema = || Schema::of_definition(&definition(), "v1").unwrap();
    let policy = || {
        Policy::<Pod>::validating("pods")
            .params::<Pod>(kubewright_policy::ParamRef::named("a"))
            .rule("params.spec.bets.size() > object.anything", "no")
    };
    assert!(policy().check(&Typed::default()).is_empty());
    let mistakes = policy().check(&Typed::default().params(schema()));
    assert!(mistakes[0].error.contains("undefined field 'bets'"));
}

#[test]
fn a_mistake_is_at_its_place_in_the_literal() {
    let policy = Policy::<Pod>::validating("gardens").rule(
        r"object.spec.beds.size() > 1 &&
           object.spec.bets.size() > 1",
        "no",
    );
    let schema = Schema::of_definition(&definition(), "v1").unwrap();
    let mistake = policy.check(&Typed::object(schema)).remove(0);
    let source = include_str!("types.rs");
    let (line, column) = mistake.place_in(source).unwrap();
    let text = source.lines().nth(line as usize - 1).unwrap();
    assert_eq!(&text[column as usize - 1..], ".bets.size() > 1\",");
    assert!(
        mistake
            .shown_in(source)
            .contains(&format!("types.rs:{line}:{column}: rule 1: "))
    );
}
