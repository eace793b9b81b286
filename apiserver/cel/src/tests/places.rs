//! Environments by place and version.

use serde_json::json;

use crate::{
    Budget, Composition, Declared, Environment, Place, SchemaError, Type, Variables, Version,
};

const MATCH: Place<'static> = Place::MatchConditions;

fn is_new(version: Version, expression: &str) -> bool {
    Environment::new_expressions(MATCH, version)
        .compile(expression)
        .is_ok()
}

fn is_stored(version: Version, expression: &str) -> bool {
    Environment::stored_expressions(MATCH, version)
        .compile(expression)
        .is_ok()
}

/// Functions and macros with the version that introduced each, by `pkg/cel/environment/base.go`.
const INTRODUCED: [(Version, &str); 9] = [
    (Version::V1_30, "isIP('::1') && type(ip('::1')) == net.IP"),
    (
        Version::V1_31,
        "!format.dns1123Label().validate('a').hasValue()",
    ),
    (
        Version::V1_31,
        "authorizer.group('').resource('pods').fieldSelector('a=b').check('list').allowed()",
    ),
    (Version::V1_32, "[1].all(i, v, i < v)"),
    (Version::V1_32, "[1].transformList(i, v, v) == [1]"),
    (Version::V1_33, "isSemver('1.2.3')"),
    (Version::V1_34, "[2, 1].sortBy(x, -x) == [2, 1]"),
    (Version::V1_34, "lists.range(3).reverse() == [2, 1, 0]"),
    (Version::V1_37, "[1, 2].includes(2)"),
];

#[test]
fn a_function_is_in_stored_expressions_of_its_version_and_in_new_ones_of_the_next() {
    for (introduced, expression) in INTRODUCED {
        for version in Version::ALL {
            let (is_known, is_older) = (version >= introduced, version > introduced);
            assert_eq!(
                is_stored(version, expression),
                is_known,
                "{version}: {expression}"
            );
            assert_eq!(
                is_new(version, expression),
                is_older,
                "{version}: {expression}"
            );
        }
    }
}

#[test]
fn functions_without_a_version_are_in_every_environment() {
    let expression = "object.?a.orValue('b').matches('b') && quantity('1') == quantity('1') && sets.contains([1], [1]) \
                      && 'a'.format([]) == 'a' && [1, 2].isSorted() && url('https://a').getHost() == 'a'";
    assert!(
        Version::ALL
            .into_iter()
            .all(|version| is_new(version, expression))
    );
}

#[test]
fn fields_named_by_words_of_the_language_are_selected_as_they_are_since_1_31() {
    let schema = Declared::from_schema(
        "T",
        &json!({"type": "object", "properties": {"namespace": {"type": "string"}}}),
    )
    .expect("a schema with a type");
    let place = Place::CustomResourceRule {
        schema: &schema,
        optional_old_self: false,
    };
    let compiles = |version, expression: &str| {
        let environment = Environment::stored_expressions(place, version);
        environment.compile(expression).is_ok()
    };
    assert!(compiles(Version::V1_31, "self.namespace == ''"));
    assert!(!compiles(Version::V1_30, "self.namespace == ''"));
    assert!(compiles(Version::V1_30, "self.__namespace__ == ''"));
}

#[test]
fn devices_say_whether_they_are_shared_since_1_36_and_are_bound_since_1_32() {
    let compiles = |version| {
        let environment = Environment::new_expressions(Place::DeviceSelector, version);
        environment
            .compile("device.allowMultipleAllocations")
            .is_ok()
    };
    assert!(compiles(Version::V1_36) && !compiles(Version::V1_35));
    let binds = |version| {
        let environment = Environment::new_expressions(Place::DeviceSelector, version);
        environment
            .compile("cel.bind(d, device, d.driver == '')")
            .is_ok()
    };
    assert!(binds(Version::V1_32) && !binds(Version::V1_31));
}

#[test]
fn a_device_has_what_its_driver_and_others_say_of_it() -> Result<(), Box<dyn std::error::Error>> {
    let device = json!({
        "attributes": {
            "a": {"int": 3}, "b": {"bool": false}, "other.io/c": {"string": "x"}, "d": {"versions": ["1.0.0", "2.0.0"]},
            "e": {"strings": ["p", "q"]},
        },
        "capacity": {"m": {"value": "1Gi"}, "other.io/n": {"value": 5}},
        "allowMultipleAllocations": true,
    });
    let environment = Environment::stored_expressions(Place::DeviceSelector, Version::V1_37);
    for expression in [
        "device.driver == 'dra.io' && device.allowMultipleAllocations",
        "device.attributes['dra.io'].a == 3 && !device.attributes['dra.io'].b",
        "device.attributes['other.io'].c == 'x' && !has(device.attributes['other.io'].a)",
        "device.attributes['dra.io'].d[1].isGreaterThan(semver('1.5.0'))",
        "device.attributes['dra.io'].e.includes('q')",
        "device.capacity['dra.io'].m == quantity('1024Mi') && device.capacity['other.io'].n.asInteger() == 5",
        // A domain that the device does not have is empty, and yet not among its domains.
        "device.attributes['none.io'].size() == 0 && !('none.io' in device.attributes)",
        "device.attributes.size() == 2 && device.attributes.all(domain, domain.endsWith('.io'))",
    ] {
        let program = environment.compile(expression)?;
        let variables = Variables::new().with_device("dra.io", &device)?;
        let value = program.evaluate(&variables, &mut Budget::match_conditions());
        assert_eq!(
            value.map(|value| value.as_bool()),
            Ok(Some(true)),
            "{expression}"
        );
    }
    let program = environment.compile("device.attributes['none.io'].a == 1")?;
    let variables = Variables::new().with_device("dra.io", &device)?;
    let error = program.evaluate(&variables, &mut Budget::match_conditions());
    assert_eq!(error.unwrap_err().to_string(), "no such key: a");

    let broken = json!({"attributes": {"v": {"version": "1"}}});
    let error = Variables::new().with_device("dra.io", &broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reading attributes v of a device: parse semantic version: No Major.Minor.Patch elements found"
    );
    Ok(())
}

#[test]
fn a_value_is_included_in_a_list_of_any_type_and_in_itself() {
    let environment = Environment::stored_expressions(MATCH, Version::V1_37);
    let cost = |expression: &str, expected: bool| {
        let program = environment.compile(expression).expect("it compiles");
        let mut budget = Budget::policy();
        let value = program.evaluate(&Variables::new(), &mut budget);
        assert_eq!(
            value.ok().and_then(|value| value.as_bool()),
            Some(expected),
            "{expression}"
        );
        budget.last_cost()
    };
    // One look through the target: an item costs one, a string a tenth of its length.
    assert_eq!(cost("[1, 2, 3].includes(2)", true), 3);
    assert_eq!(cost("[1, 2, 3].includes('2')", false), 3);
    assert_eq!(
        cost("'model-a-model-a'.includes('model-a-model-a')", true),
        1
    );
    assert_eq!(cost("dyn(1).includes(1.0)", true), 1);
}

#[test]
fn a_composition_extends_the_environment_of_a_policy() -> Result<(), Box<dyn std::error::Error>> {
    let place = Place::ValidatingPolicy { params: true };
    let environment = Environment::new_expressions(place, Version::V1_35);
    let mut composition = Composition::in_environment(environment);
    composition.declare("limit", "params.limit")?;
    assert!(
        composition
            .environment()
            .compile("object.size < variables.limit")
            .is_ok()
    );
    assert!(composition.environment().compile("variables.none").is_err());
    Ok(())
}

#[test]
fn message_expressions_have_no_authorizer_and_only_mutations_make_objects() {
    let compiles = |place, expression: &str| {
        let environment = Environment::new_expressions(place, Version::default());
        environment.compile(expression).is_ok()
    };
    let params = false;
    let check = "authorizer.path('/').check('get').allowed()";
    assert!(compiles(Place::ValidatingPolicy { params }, check));
    assert!(!compiles(Place::MessageExpression { params }, check));
    assert!(!compiles(Place::ValidatingPolicy { params }, "Object{}"));
    assert!(compiles(Place::MutatingPolicy { params }, "Object{}"));
    assert!(!compiles(Place::MutatingPolicy { params }, "params.a"));
    assert!(!compiles(Place::MatchConditions, "variables.a"));
}

#[test]
fn what_a_schema_does_not_type_cannot_be_selected() -> Result<(), SchemaError> {
    let schema = Declared::from_schema(
        "T",
        &json!({"type": "object", "properties": {
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "all": {"type": "array"},
            "port": {"x-kubernetes-int-or-string": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true},
            "since": {"type": "string", "format": "date-time", "nullable": true},
        }}),
    )?;
    let place = Place::CustomResourceRule {
        schema: &schema,
        optional_old_self: true,
    };
    let environment = Environment::new_expressions(place, Version::default());
    let output = |expression: &str| {
        let program = environment.compile(expression).ok()?;
        Some(program.output_type().to_string())
    };
    assert_eq!(output("self.any"), None);
    assert_eq!(output("self.all"), None);
    assert_eq!(output("self.port").as_deref(), Some("dyn"));
    assert_eq!(
        output("self.labels").as_deref(),
        Some("map(string, string)")
    );
    assert_eq!(
        output("self.template.metadata.name").as_deref(),
        Some("string")
    );
    assert_eq!(output("self.template.metadata.labels"), None);
    assert_eq!(
        output("self.since").as_deref(),
        Some("google.protobuf.Timestamp")
    );
    assert_eq!(
        output("oldSelf.?port").as_deref(),
        Some("optional_type(dyn)")
    );
    Ok(())
}

#[test]
fn a_schema_that_cannot_be_declared_says_where() {
    let error = |schema| {
        let declared = Declared::from_schema("T", &schema);
        declared.expect_err("no declaration")
    };
    let path = |path: &str| path.to_owned();
    assert_eq!(error(json!({})), SchemaError::Untyped { path: path("T") });
    assert_eq!(error(json!(true)), SchemaError::Untyped { path: path("T") });
    let reference = json!({"type": "array", "items": {"$ref": "#/a"}});
    assert_eq!(
        error(reference),
        SchemaError::Reference {
            path: path("T.@idx")
        }
    );
    let deep = (0..200).fold(
        json!({"type": "string"}),
        |items, _| json!({"type": "array", "items": items}),
    );
    assert!(matches!(error(deep), SchemaError::TooDeep { .. }));
}

#[test]
fn a_typed_struct_is_what_its_json_is() -> Result<(), Box<dyn std::error::Error>> {
    #[derive(serde::Serialize)]
    struct Pod {
        names: Vec<Option<String>>,
        large: u64,
        labels: std::collections::BTreeMap<String, f64>,
    }
    let pod = Pod {
        names: vec![Some("a".to_owned()), None],
        large: u64::MAX,
        labels: [("b".to_owned(), 0.5)].into(),
    };
    let json = serde_json::to_value(&pod)?;
    let variables = Variables::new()
        .with_serialize("object", &pod)?
        .with_json("oldObject", &json);
    let program = Environment::admission().compile(
        "object == oldObject && oldObject == object && object.names[1] == null && type(object.large) == double \
         && object.labels.b == 0.5 && object.labels.all(key, key == 'b')",
    )?;
    let value = program.evaluate(&variables, &mut Budget::policy())?;
    assert_eq!(value.as_bool(), Some(true));

    let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = Variables::new()
        .with_serialize("object", &keys)
        .unwrap_err();
    assert_eq!(error.to_string(), "serializing the variable object");
    assert!(std::error::Error::source(&error).is_some());
    Ok(())
}

#[test]
fn the_bounds_of_a_schema_limit_the_estimate() -> Result<(), Box<dyn std::error::Error>> {
    let estimate = |limits: serde_json::Value| -> Result<u64, Box<dyn std::error::Error>> {
        let mut schema = json!({"type": "array", "items": {"type": "string", "maxLength": 10}});
        if let (Some(schema), Some(limits)) = (schema.as_object_mut(), limits.as_object()) {
            schema.extend(limits.clone());
        }
        let schema = Declared::from_schema("T", &schema)?;
        let place = Place::CustomResourceRule {
            schema: &schema,
            optional_old_self: false,
        };
        let environment = Environment::new_expressions(place, Version::default());
        let rule = "self.all(x, x.startsWith('a'))";
        Ok(environment
            .compile_with_max_cost(rule, &schema, &Type::Bool)?
            .1)
    };
    let (bounded, unbounded) = (estimate(json!({"maxItems": 10}))?, estimate(json!({}))?);
    assert!(
        bounded < 100 && unbounded > 1_000_000,
        "{bounded} {unbounded}"
    );
    Ok(())
}
