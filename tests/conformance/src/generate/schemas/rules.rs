//! Rules in CEL for the type of a schema: those that compile, with and without old values, and doubtful ones.

use serde_json::{Map, Value, json};

use crate::generate::random::Random;

/// Adds one or two rules that compile for the schema.
pub(super) fn add(random: &mut Random, schema: &mut Value) {
    let known = of_type(schema);
    if known.is_empty() {
        return;
    }
    let mut rules = Vec::new();
    for _ in 0..random.between(1, 2) {
        let mut rule = json!({"rule": random.one_of(&known)});
        match random.below(6) {
            0 => rule["message"] = "it says no".into(),
            1 => rule["messageExpression"] = "'it is ' + string(1 + 1)".into(),
            2 => {
                let reasons = [
                    "FieldValueInvalid",
                    "FieldValueForbidden",
                    "FieldValueRequired",
                    "FieldValueDuplicate",
                ];
                rule["reason"] = random.pick(&reasons).into();
            }
            _ => {}
        }
        if let Some(properties) = schema["properties"].as_object()
            && random.one_in(3)
        {
            let names: Vec<&String> = properties.keys().collect();
            if let Some(name) = names.first() {
                let path = if name.contains(['.', '-']) {
                    format!("['{name}']")
                } else {
                    format!(".{name}")
                };
                rule["fieldPath"] = path.into();
            }
        }
        rules.push(rule);
    }
    schema["x-kubernetes-validations"] = rules.into();
}

fn of_type(schema: &Value) -> Vec<String> {
    let rules: &[&str] = match schema["type"].as_str() {
        Some("string") if schema.get("format").is_none() => &[
            "self.size() < 3",
            "self.startsWith('a')",
            "self.matches('^[a-z]*$')",
            "self != 'b'",
            "self == oldSelf",
            "self.size() >= oldSelf.size()",
            "self.contains('a') || self == ''",
            "self.lowerAscii() == self",
            "self.split(',').size() < 2",
            "self.replace('a', 'b') != 'bb'",
            "self.indexOf('a') < 1",
            "self.trim() == self",
            "self.find('[0-9]+') != '1'",
            "!isURL(self)",
            "!isIP(self)",
            "!isQuantity(self)",
            "self < 'b'",
            "string(self) == self",
            "!format.dns1123Label().validate(self).hasValue()",
            "['a', 'b'].exists(x, self.endsWith(x))",
            "size(self) != 2",
            "self.charAt(0) != 'a'",
            "self.substring(1) != ''",
            "int(self) > 0",
            "self.reverse() == self",
            "quantity(self).isInteger()",
            "duration(self) > duration('1s')",
            "'%s'.format([self]) != 'ab'",
            "!isSemver(self)",
            "cel.bind(x, self + 'a', x.size() < 5)",
        ],
        Some("integer") => &[
            "self > 0",
            "self % 2 == 0",
            "self >= oldSelf",
            "self < 10 || self > 100",
            "self != 5",
            "self == oldSelf",
            "10 / self > 1",
            "double(self) < 10.0",
            "string(self) != '1'",
            "self in [1, 2, 3, 10]",
            "self + 9223372036854775807 > 0",
            "-self < 5",
            "self < 2.5",
            "uint(self) > 1u",
            "self * self < 100",
            "type(self) == int",
            "self == 1 ? true : self > 4",
            "math.abs(self) > 1",
        ],
        Some("number") => &[
            "self > 0.0",
            "self >= oldSelf",
            "self < 10.5",
            "self / 2.0 < 1.0",
            "int(self) < 3",
            "string(self) != '1.5'",
            "self != 1.5",
            "type(self) == double",
            "self > 1",
            "self in [1.0, 2.5]",
            "math.round(self) == self",
            "!math.isNaN(self)",
        ],
        Some("boolean") => &[
            "self",
            "!self",
            "self == oldSelf",
            "self || true",
            "string(self) == 'true'",
        ],
        Some("array") => &[
            "self.size() < 2",
            "self == oldSelf",
            "self.size() >= oldSelf.size()",
            "size(self) != 1",
            "self.all(x, x == x)",
            "self.exists_one(x, true)",
            "self.filter(x, true).size() < 2",
            "self.map(x, 1).size() != 2",
            "self == []",
            "self.map(x, 1).sum() < 2",
            "oldSelf.all(x, x in self)",
            "self.all(i, x, i < 1)",
            "self[0] == self[0]",
        ],
        Some("object") if schema.get("additionalProperties").is_some() => &[
            "self.size() < 2",
            "'k0' in self",
            "self.all(k, k.size() > 1)",
            "self == oldSelf",
            "self.exists(k, k == 'k0')",
            "oldSelf.all(k, k in self)",
            "self.map(k, k).size() != 2",
            "self.all(k, v, k != 'k1')",
        ],
        Some("object") => {
            let mut rules = vec!["self == oldSelf".to_owned(), "self == self".to_owned()];
            for name in schema["properties"]
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
            {
                let name = name
                    .replace('.', "__dot__")
                    .replace('-', "__dash__")
                    .replace('/', "__slash__");
                let name = match &*name {
                    "namespace" => "__namespace__",
                    name => name,
                };
                rules.push(format!("has(self.{name})"));
                rules.push(format!("!has(self.{name})"));
                rules.push(format!("has(self.{name}) == has(oldSelf.{name})"));
                rules.push(format!("self.{name} == self.{name}"));
                rules.push(format!("self.?{name}.hasValue()"));
            }
            return rules;
        }
        None if schema["x-kubernetes-int-or-string"] == true => &[
            "type(self) == int",
            "self == 1",
            "type(self) == string ? self.endsWith('%') : self > 0",
            "self == oldSelf",
            "self > 0",
            "string(self) != '1'",
        ],
        _ => &[],
    };
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

/// A rule that a server may refuse.
pub(super) fn doubtful(random: &mut Random, schema: &Map<String, Value>) -> Value {
    let rules = [
        "self",
        "true",
        "",
        " ",
        "self.nosuch == 1",
        "self ==",
        "oldSelf == self",
        "self.all(x, x > 1)",
        "self.size()",
        "nosuch()",
        "self > 1",
        "self > 1.0",
        "self + 1 == 2",
        "self == 'a'",
        "self.matches('(')",
        "self.matches('a**')",
        "1 == 1.0",
        "'a' + 1 == ''",
        "self.all(x, self.all(y, self.all(z, x == y && y == z)))",
        "has(self)",
        "has(self.a)",
        "self['a'] == 1",
        "dyn(self) == 1",
        "[1, 'a'].size() == 2",
        "{'a': 1}.a == 1",
        "timestamp('x') == timestamp('y')",
        "duration('1d') == duration('24h')",
        "self.metadata.name == 'a'",
        "self.kind == 'x'",
        "optional.of(self).hasValue()",
        "self.?a.hasValue()",
        "quantity('1') == quantity('1000m')",
        "ip('1.2.3.4').family() == 4",
        "cidr('10.0.0.0/8').containsIP('10.1.1.1')",
        "url('http://a').getHost() == 'a'",
        "semver('1.2.3').major() == 1",
        "self.map(x, x).size() > 0",
        "sets.contains([1], [1])",
        "x",
        "self.x.y.z",
        "1",
        "null == null",
        "b'a' == b'a'",
        "!self",
        "-self == 1",
        "self in [1]",
        "'a' in self",
        "self.exists(x, true)",
        "lists.range(3).size() == 3",
        "base64.encode(b'a') == ''",
        "self.join(',') == ''",
        "request.name == ''",
        "object.x == 1",
        "self.sort() == self",
        "self.isSorted()",
        "self.min() == 1",
        "self.slice(0, 1) == self",
        "self.flatten() == self",
        "self.distinct() == self",
        "true // a",
        "// a",
        "true || self.nosuch",
        "cel.bind(a, 1, a == 1)",
        "'\\u00e4'.size() == 1",
        "r'\\d' == 'd'",
        "1u == 1",
        "0x10 == 16",
        "1e3 == 1000.0",
        "self == self ? 1 : 'a'",
        "type(self) == string",
        "type(1) == int",
        "math.greatest(1, 2) == 2",
        "strings.quote('a') == ''",
    ];
    let old = [
        "self == oldSelf",
        "oldSelf.hasValue()",
        "oldSelf.orValue(1) == 1",
        "oldSelf == self",
    ];
    let mut rule = json!({"rule": random.pick(&rules)});
    match random.below(12) {
        0 => rule["message"] = random.pick(&["", " ", "a\nb", "m"]).into(),
        1 => {
            rule["messageExpression"] = random
                .pick(&[
                    "'a'",
                    "1",
                    "self",
                    "",
                    "'a' +",
                    "'a' + 1",
                    "string(self)",
                    "self.nosuch",
                ])
                .into();
        }
        2 => rule["reason"] = random.pick(&["FieldValueInvalid", "Nosuch", ""]).into(),
        3 => {
            rule["fieldPath"] = random
                .pick(&[
                    ".a",
                    "a",
                    ".nosuch",
                    "",
                    ".a.b",
                    "['a']",
                    ".a[0]",
                    ".metadata",
                    ".",
                ])
                .into();
        }
        4 => {
            rule["rule"] = random.pick(&old).into();
            rule["optionalOldSelf"] = true.into();
        }
        5 => rule["optionalOldSelf"] = random.one_of(&[json!(true), json!(false), json!("a")]),
        6 => {
            let known = of_type(&Value::Object(schema.clone()));
            if !known.is_empty() {
                rule["rule"] = random.one_of(&known).into();
            }
        }
        _ => {}
    }
    rule
}
