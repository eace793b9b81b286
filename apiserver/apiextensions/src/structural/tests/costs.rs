//! What rules can cost at most: the figures that the tests of Kubernetes hold its estimates to.

use serde_json::{Value, json};

use super::super::rules::compile;
use super::super::schema::Schema;

/// The most that a rule about a field with this schema costs.
fn most(schema: &Value, rule: &str) -> u64 {
    let mut field = schema.clone();
    field["x-kubernetes-validations"] = json!([{"rule": rule}]);
    let root = json!({"type": "object", "properties": {"x": field}});
    let mut root = Schema::read(&root);
    compile(&mut root);
    let rule = &root.properties["x"].rules.all[0];
    rule.compiled.rule.most()
}

fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn map(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

fn with(mut schema: Value, bound: &str, limit: u64) -> Value {
    schema[bound] = limit.into();
    schema
}

fn record() -> Value {
    json!({"type": "object", "required": ["required"], "properties": {
        "required": {"type": "string"}, "optional": {"type": "string"},
    }})
}

#[test]
fn rules_about_lists_cost_what_their_items_allow() {
    let text = || json!({"type": "string"});
    let format = |format: &str| json!({"type": "string", "format": format});
    let either = || json!({"x-kubernetes-int-or-string": true});
    let number = || json!({"type": "number"});
    let all = "self.all(x, true)";
    for (items, rule, unbounded, limit, bounded) in [
        (number(), all, 4_718_591, 10, 32),
        (text(), all, 3_145_727, 20, 62),
        (json!({"type": "boolean"}), all, 1_887_437, 5, 17),
        (array(number()), all, 3_145_727, 100, 302),
        (record(), all, 555_128, 50, 152),
        (number(), "self[1] == 0.0", 2, 5_000, 2),
        (text(), "self[1] == self[1]", 314_577, 8, 314_577),
        (
            number(),
            "self.all(x, x == 0.0)",
            6_291_454,
            3 * 1024 * 2048,
            25_165_826,
        ),
        (either(), all, 4_718_591, 10, 32),
        (either(), "self[0] == 5", 3, 10, 3),
        (record(), "self[0] == null", 2, 422, 2),
        (array(number()), "self[0][0] == -1.0", 3, 51, 3),
        (map(number()), "self.all(x, x.y == 25.2)", 6_291_452, 12, 74),
        (map(number()), "self[0].x > 2.0", 4, 3_000, 4),
        (format("duration"), all, 2_359_295, 5, 17),
        (format("duration"), "self[0].getHours() == 2", 4, 525, 4),
        (format("date"), all, 725_936, 15, 47),
        (format("date-time"), all, 428_963, 25, 77),
        (
            map(record()),
            "self.all(x, x['y'].required == 'z')",
            7_340_027,
            10,
            72,
        ),
    ] {
        let schema = array(items);
        assert_eq!(most(&schema, rule), unbounded, "{schema}: {rule}");
        let schema = with(schema, "maxItems", limit);
        assert_eq!(most(&schema, rule), bounded, "{schema}: {rule}");
    }
    let numbers = array(number());
    for (rule, bounded) in [
        ("self.all(x, self.all(y, true))", 352),
        ("self.all(x, self.all(y, self.all(z, true)))", 3_552),
    ] {
        assert!(most(&numbers, rule) > 10_000_000, "{rule}");
        assert_eq!(most(&with(numbers.clone(), "maxItems", 10), rule), bounded);
    }
}

#[test]
fn rules_about_maps_cost_what_their_entries_allow() {
    let format = |format: &str| json!({"type": "string", "format": format});
    let all = "self.all(x, true)";
    let has = "has(self.x)";
    for (values, rule, unbounded, limit, bounded) in [
        (json!({"type": "number"}), all, 1_348_169, 10, 32),
        (json!({"type": "number"}), has, 1, 100, 1),
        (json!({"type": "string"}), all, 1_179_647, 3, 11),
        (json!({"type": "boolean"}), all, 943_718, 100, 302),
        (json!({"type": "number"}), "self['x'] == 0.0", 2, 0, 2),
        (record(), all, 428_963, 20, 62),
        (map(json!({"type": "number"})), all, 1_179_647, 10, 32),
        (array(json!({"type": "number"})), all, 1_179_647, 25, 77),
        (format("duration"), all, 1_048_577, 5, 17),
        (format("date"), all, 524_288, 10, 32),
        (format("date-time"), all, 349_526, 25, 77),
        (
            json!({"type": "integer"}),
            "oldSelf.size() == self.size()",
            5,
            10,
            5,
        ),
        (format("date-time"), "self['a'] == self['b']", 8, 7, 8),
        (format("duration"), "self['c'] == self['d']", 8, 42, 8),
    ] {
        let schema = map(values);
        assert_eq!(most(&schema, rule), unbounded, "{schema}: {rule}");
        let schema = with(schema, "maxProperties", limit);
        assert_eq!(most(&schema, rule), bounded, "{schema}: {rule}");
    }
    let nested = map(json!({"type": "string", "maxLength": 10}));
    let rule = "self.all(x, x.contains(self[x]))";
    assert_eq!(most(&map(json!({"type": "string"})), rule), 2_752_507);
    assert_eq!(most(&with(nested, "maxProperties", 10), rule), 72);
}

#[test]
fn rules_about_strings_cost_what_their_length_allows() {
    for (rule, unbounded, limit, bounded) in [
        ("self.contains('test')", 314_574, 10, 5),
        ("self.startsWith('test')", 2, 15, 2),
        ("self.endsWith('test')", 2, 30, 2),
        ("size(self + 'hello') > size('hello')", 314_578, 4, 7),
        ("self.matches('x')", 314_574, 50, 22),
        (r#""".matches("(((((((((())))))))))[0-9]")"#, 7, 10, 7),
        ("self.matches('')", 1, 100, 1),
        ("self == 'x'", 2, 0, 1),
        ("self.find('[0-9]+') == ''", 629_147, 10, 11),
        ("self.lowerAscii() == 'lower!'", 314_575, 10, 6),
    ] {
        let schema = json!({"type": "string"});
        assert_eq!(most(&schema, rule), unbounded, "{rule}");
        assert_eq!(
            most(&with(schema, "maxLength", limit), rule),
            bounded,
            "{rule}"
        );
    }
    let bytes = json!({"type": "string", "format": "byte"});
    assert_eq!(most(&bytes, "self == b'x'"), 2);
    assert_eq!(most(&with(bytes, "maxLength", 0), "self == b'x'"), 1);
    let choice = json!({"type": "string", "enum": ["A", "B", "C", "LongValue"]});
    assert_eq!(most(&choice, "self.contains('A')"), 2);
    assert_eq!(
        most(&with(choice, "maxLength", 1_000), "self.contains('A')"),
        401
    );
    let either = json!({"x-kubernetes-int-or-string": true});
    assert_eq!(most(&either, "isQuantity(self)"), 314_574);
    assert_eq!(most(&with(either, "maxLength", 20), "isQuantity(self)"), 9);
}

#[test]
fn functions_that_make_strings_and_lists_bound_the_size() {
    let bounded = |limit: Option<u64>| match limit {
        None => json!({"type": "string"}),
        Some(limit) => json!({"type": "string", "maxLength": limit}),
    };
    let strings = |limit: Option<u64>| {
        let list = array(bounded(limit));
        match limit {
            None => list,
            Some(limit) => with(list, "maxItems", limit),
        }
    };
    for (rule, unlimited, limited) in [
        ("self.join(' ') == 'aa bb'", 329_853_068_905, 43),
        ("self.isSorted() == true", 329_854_432_052, 52),
    ] {
        assert_eq!(most(&strings(None), rule), unlimited, "{rule}");
        assert_eq!(most(&strings(Some(10)), rule), limited, "{rule}");
    }
    let parts = |limit| {
        json!({"type": "object", "properties": {
            "str": bounded(limit), "separator": bounded(limit), "before": bounded(Some(2)), "after": bounded(Some(4)),
        }})
    };
    let replace = "self.str.replace(self.before, self.after) == 'does not matter'";
    assert_eq!(most(&parts(None), replace), 629_154);
    assert_eq!(most(&parts(Some(4)), replace), 12);
    let split = "self.str.split(self.separator) == []";
    assert_eq!(most(&parts(None), split), 629_160);
    assert_eq!(most(&parts(Some(10)), split), 22);
}
