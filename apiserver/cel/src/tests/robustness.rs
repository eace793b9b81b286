//! Expressions of strangers: whatever they are, compiling and evaluating them ends, within their budget and without a panic.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{environment, evaluate};
use crate::{
    Budget, Declared, Environment, EvaluationError, Pattern, Place, Type, Variables, Version,
};

fn spends_too_much(expression: &str) {
    let program = Environment::kubernetes()
        .with_bindings()
        .compile(expression)
        .expect("it compiles");
    let result = program.evaluate(&Variables::new(), &mut Budget::policy());
    // One call alone may cost more than the whole budget.
    assert!(
        matches!(
            result,
            Err(EvaluationError::CostLimit | EvaluationError::OutOfBudget)
        ),
        "{expression}: {result:?}"
    );
}

#[test]
fn a_loop_in_a_loop_in_a_loop_ends_at_its_cost() {
    let range = "lists.range(10000)";
    spends_too_much(&format!(
        "{range}.all(a, {range}.all(b, {range}.all(c, a + b + c >= 0)))"
    ));
    spends_too_much(&format!(
        "{range}.map(a, {range}.map(b, {range})).size() > 0"
    ));
    spends_too_much(&format!(
        "{range}.exists(a, {range}.sortBy(b, -b).size() < 0)"
    ));
}

#[test]
fn values_that_double_end_at_their_cost() {
    let doubled = |start: &str| {
        let steps: String = (0..40).map(|_| ".map(x, x + x)").collect();
        format!("[{start}]{steps}.size() == 1")
    };
    spends_too_much(&doubled("lists.range(1000)"));
    spends_too_much(&doubled("'0123456789'"));
    spends_too_much(&doubled("b'0123456789'"));
    let bound: Vec<String> = (0..39)
        .map(|step| format!("cel.bind(x{}, x{step} + x{step}, ", step + 1))
        .collect();
    let bound = bound.concat();
    let closed = ")".repeat(40);
    spends_too_much(&format!(
        "cel.bind(x0, lists.range(1000), {bound}size(x39){closed} > 0"
    ));
}

#[test]
fn calls_that_make_much_of_little_end_at_their_cost() {
    let many = "lists.range(20000)";
    let long = "b".repeat(50_000);
    spends_too_much(&format!("[{many}].all(r, r.all(i, (r + r).size() > 0))"));
    spends_too_much(&format!(
        "{many}.all(i, 'aaaaaaaaaa'.replace('a', '{long}') != '')"
    ));
    spends_too_much(&format!(
        "[{many}].all(r, r.all(i, '%s'.format([r]) != ''))"
    ));
}

#[test]
fn patterns_are_limited_in_size_and_matched_without_going_back() {
    for pattern in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(",
        "a**",
        "\\C",
        "(?<=a)b",
        "\\1",
    ] {
        assert!(Pattern::compile(pattern).is_err(), "{pattern}");
        let quoted = pattern.replace('\\', "\\\\");
        assert!(
            environment()
                .compile(&format!("'a'.matches('{quoted}')"))
                .is_err(),
            "{pattern}"
        );
    }
    let text = "a".repeat(20_000);
    let (result, cost) = evaluate(&format!("'{text}'.matches('^(a+)+(a|aa)*[^b]?c$')"));
    assert_eq!((result, cost), (Ok("false".to_owned()), 10_005));
}

#[test]
fn huge_literals_are_refused_or_read() {
    for literal in [
        format!("1{}", "0".repeat(99_000)),
        format!("1e{}", "9".repeat(99_000)),
        format!("0x{}", "f".repeat(99_000)),
        format!("'{}'", "\\U0010ffff".repeat(9_000)),
        format!("[{}]", vec!["1"; 49_000].join(",")),
        format!(
            "{{{}}}",
            (0..9_000)
                .map(|key| format!("{key}:1"))
                .collect::<Vec<_>>()
                .join(",")
        ),
        format!("duration('{}s')", "9".repeat(90_000)),
        format!("quantity('{}')", "9".repeat(90_000)),
        format!("semver('1.{}.0')", "9".repeat(90_000)),
        format!("url('https://{}')", "%".repeat(90_000)),
        format!("'%{}d'.format([1])", ".9".repeat(40_000)),
        format!("'%.{}f'.format([1.0])", "9".repeat(90_000)),
    ] {
        let _ = evaluate(&literal);
    }
}

#[test]
fn deep_json_is_compared_and_written_on_the_stack_of_a_worker() {
    let work = || {
        let deep = (0..120).fold(json!(1), |inner, _| json!({"a": [inner]}));
        let environment = environment();
        let program = environment.compile("object == object && '%s'.format([object]) != ''");
        let program = program.expect("it compiles");
        let variables = Variables::new().with_json("object", &deep);
        let value = program.evaluate(&variables, &mut Budget::policy());
        assert_eq!(value.ok().and_then(|value| value.as_bool()), Some(true));
    };
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
    worker.expect("a thread").join().expect("no overflow");
}

/// Expressions that follow the grammar, with their types right more often than not.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "0",
        "-1",
        "9223372036854775807",
        "1u",
        "1.5",
        "'a'",
        "'%s %d'",
        "''",
        "b'a'",
        "true",
        "null",
        "[]",
        "{}",
        "[1, 2, 3]",
        "{'a': 1}",
        "object",
        "object.spec",
        "object.spec.ports",
        "object.metadata.labels",
        "name",
        "numbers",
        "x",
        "y",
        "duration('1h')",
        "timestamp('2024-01-01T00:00:00Z')",
        "quantity('1Gi')",
        "ip('::1')",
        "cidr('10.0.0.0/8')",
        "semver('1.2.3')",
        "url('https://a/b')",
        "optional.none()",
        "test.Item{name: 'a'}",
        "lists.range(50)",
        "type(1)",
        "format.dns1123Label()",
    ]);
    leaf.prop_map(str::to_owned)
        .prop_recursive(6, 48, 3, |inner| {
            let operator = prop::sample::select(vec![
                "+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in",
            ]);
            let member = prop::sample::select(vec![
                "size()",
                "sum()",
                "max()",
                "isSorted()",
                "distinct()",
                "sort()",
                "reverse()",
                "flatten()",
                "trim()",
                "first()",
                "hasValue()",
                "value()",
                "split('')",
                "lowerAscii()",
                "charAt(0)",
                "unwrapOpt()",
                "name",
                "?name",
                "spec",
            ]);
            let global = prop::sample::select(vec![
                "size",
                "string",
                "int",
                "uint",
                "double",
                "bytes",
                "bool",
                "type",
                "dyn",
                "duration",
                "timestamp",
                "quantity",
                "optional.of",
                "optional.ofNonZeroValue",
                "isIP",
                "lists.range",
                "strings.quote",
                "!",
                "-",
                "has",
            ]);
            let method = prop::sample::select(vec![
                "matches",
                "startsWith",
                "contains",
                "indexOf",
                "join",
                "format",
                "split",
                "orValue",
                "or",
                "find",
                "findAll",
                "slice",
                "compareTo",
                "add",
                "containsIP",
                "validate",
                "substring",
                "flatten",
            ]);
            let aggregate = prop::sample::select(vec![
                "all",
                "exists",
                "exists_one",
                "map",
                "filter",
                "sortBy",
                "optMap",
                "optFlatMap",
            ]);
            let pair = prop::sample::select(vec![
                "all",
                "exists_one",
                "transformList",
                "transformMap",
                "transformMapEntry",
            ]);
            let one = inner.clone();
            prop_oneof![
                (one.clone(), operator, one.clone())
                    .prop_map(|(a, of, b)| format!("({a} {of} {b})")),
                (one.clone(), member).prop_map(|(a, of)| format!("{a}.{of}")),
                (global, one.clone()).prop_map(|(of, a)| format!("{of}({a})")),
                (one.clone(), method, one.clone()).prop_map(|(a, of, b)| format!("{a}.{of}({b})")),
                (one.clone(), aggregate, one.clone())
                    .prop_map(|(a, of, b)| format!("{a}.{of}(x, {b})")),
                (one.clone(), pair, one.clone())
                    .prop_map(|(a, of, b)| format!("{a}.{of}(x, y, {b})")),
                (one.clone(), one.clone(), one.clone())
                    .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
                (one.clone(), one.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
                (one.clone(), one.clone()).prop_map(|(a, b)| format!("{a}[?{b}]")),
                (one.clone(), one.clone()).prop_map(|(a, b)| format!("[{a}, ?{b}]")),
                (one.clone(), one.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
                (one.clone(), one).prop_map(|(a, b)| format!("cel.bind(x, {a}, {b})")),
            ]
        })
}

/// Schemas that are often valid.
fn schemas() -> impl Strategy<Value = Json> {
    let kinds = prop::sample::select(vec![
        "string", "integer", "number", "boolean", "object", "array", "", "null",
    ]);
    let formats = prop::sample::select(vec!["", "byte", "date", "date-time", "duration", "none"]);
    let leaf = (kinds, formats, any::<i64>(), any::<bool>()).prop_map(|(kind, format, limit, nullable)| {
        json!({"type": kind, "format": format, "maxLength": limit, "maxItems": limit, "nullable": nullable})
    });
    leaf.prop_recursive(4, 24, 3, |inner| {
        let lists = prop::sample::select(vec!["atomic", "set", "map", "other"]);
        prop_oneof![
            (inner.clone(), lists, any::<i64>()).prop_map(|(items, kind, limit)| {
                json!({"type": "array", "items": items, "x-kubernetes-list-type": kind, "maxItems": limit})
            }),
            (inner.clone(), any::<i64>()).prop_map(|(values, limit)| {
                json!({"type": "object", "additionalProperties": values, "maxProperties": limit})
            }),
            (inner.clone(), inner, any::<bool>()).prop_map(|(one, other, resource)| {
                json!({"type": "object", "properties": {"metadata": one, "a-b": other}, "required": ["a-b", 1],
                    "x-kubernetes-embedded-resource": resource})
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_tree_is_compiled_or_refused_and_ends_within_its_budget(expression in expressions()) {
        let closed = format!("[1].map(x, [2].map(y, {expression}))");
        for expression in [&expression, &closed] {
            let (_, cost) = evaluate(expression);
            prop_assert!(cost <= 2_500_000);
        }
        for version in [Version::V1_30, Version::V1_37] {
            let _ = Environment::stored_expressions(Place::DeviceSelector, version).compile(&closed);
        }
    }

    #[test]
    fn any_schema_is_declared_or_refused_and_estimates_are_made(schema in schemas(), expression in expressions()) {
        let Ok(declared) = Declared::from_schema("T", &schema) else { return Ok(()) };
        let place = Place::CustomResourceRule { schema: &declared, optional_old_self: false };
        let environment = Environment::new_expressions(place, Version::default());
        let rule = expression.replace("object", "self");
        let _ = environment.compile_with_max_cost(&rule, &declared, &Type::Bool);
        let sample = super::sample();
        let variables = Variables::new().with("self", declared.read(&sample)).with("oldSelf", declared.read(&schema));
        if let Ok(program) = environment.compile("self == oldSelf") {
            let _ = program.evaluate(&variables, &mut Budget::policy());
        }
    }
}
