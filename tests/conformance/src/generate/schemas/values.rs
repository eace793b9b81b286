//! Values for a schema: those that fit, and those at and beyond its bounds.

use serde_json::{Map, Value, json};

use super::patterns::PATTERNS;
use crate::generate::random::Random;

/// A value that fits the schema, as far as its own keywords say.
pub(super) fn fit(random: &mut Random, schema: &Value) -> Value {
    if let Some(choices) = schema["enum"].as_array()
        && !choices.is_empty()
    {
        return random.one_of(choices);
    }
    if schema["nullable"] == true && random.one_in(8) {
        return Value::Null;
    }
    let mut value = match schema["type"].as_str() {
        Some("string") => fitting_string(random, schema).into(),
        Some("integer") => fitting_number(random, schema, true),
        Some("number") => fitting_number(random, schema, false),
        Some("boolean") => random.one_in(2).into(),
        Some("array") => {
            let items = length(random, schema, "minItems", "maxItems");
            (0..items)
                .map(|index| {
                    let mut item = fit(random, &schema["items"]);
                    // Sets and maps have different items.
                    match &mut item {
                        Value::Object(item) if item.contains_key("k") => {
                            if let Some(Value::String(key)) = item.get_mut("k") {
                                *key = format!("k{index}");
                            } else if let Some(Value::Number(key)) = item.get_mut("k") {
                                *key = index.into();
                            }
                        }
                        Value::String(text) if schema["x-kubernetes-list-type"] == "set" => {
                            *text = format!("{index}");
                        }
                        Value::Number(number) if schema["x-kubernetes-list-type"] == "set" => {
                            *number = index.into();
                        }
                        _ => {}
                    }
                    item
                })
                .collect()
        }
        Some("object") => fitting_object(random, schema),
        _ if schema["x-kubernetes-int-or-string"] == true => {
            random.one_of(&[json!(1), json!("50%"), json!("a"), json!(0)])
        }
        _ => random.one_of(&[
            json!(1),
            json!("a"),
            json!({"a": 1}),
            json!([1]),
            json!(true),
        ]),
    };
    if schema["x-kubernetes-embedded-resource"] == true && value.is_object() {
        value["apiVersion"] = "v1".into();
        value["kind"] = "Pod".into();
        value["metadata"] = json!({"name": "n"});
    }
    value
}

/// A value at or beyond one of the bounds of a schema, or of another type.
pub(super) fn edge(random: &mut Random, schema: &Value) -> Value {
    match random.below(14) {
        0 => {
            return random.one_of(&[
                Value::Null,
                json!(""),
                json!("a"),
                json!(1),
                json!(1.5),
                json!(true),
                json!([]),
                json!({}),
                json!("1"),
                json!([null]),
                json!({"a": null}),
                json!(2.0),
                json!(1e20),
                json!(-0.0),
            ]);
        }
        1 => return fit(random, schema),
        _ => {}
    }
    match schema["type"].as_str() {
        Some("string") => edge_of_string(random, schema),
        Some("integer" | "number") => edge_of_number(random, schema),
        Some("array") => edge_of_list(random, schema),
        Some("object") => edge_of_object(random, schema),
        Some(_) => fit(random, schema),
        None => random.one_of(&[
            json!(1),
            json!(-1),
            json!(1.0),
            json!(1.5),
            json!("a"),
            json!(""),
            json!("10%"),
            json!(9_007_199_254_740_993_i64),
            json!(1e20),
            json!(true),
            json!({"a": {"b": null}}),
            json!([1, null]),
            json!(2_147_483_648_i64),
        ]),
    }
}

fn length(random: &mut Random, schema: &Value, least: &str, most: &str) -> i64 {
    let least = schema[least].as_i64().unwrap_or(0).clamp(0, 8);
    let most = schema[most]
        .as_i64()
        .unwrap_or(least + 2)
        .clamp(least, least + 8);
    random.between(least, most)
}

fn fitting_string(random: &mut Random, schema: &Value) -> String {
    if let Some(pattern) = schema["pattern"].as_str() {
        let found = PATTERNS.iter().find(|(known, _, _)| *known == pattern);
        return found.map_or("a", |found| found.1).to_owned();
    }
    if let Some(format) = schema["format"].as_str() {
        return random.pick(of_format(format).0).to_owned();
    }
    let length = length(random, schema, "minLength", "maxLength");
    (0..length)
        .map(|_| random.one_of(&['a', 'b', '1']))
        .collect()
}

fn edge_of_string(random: &mut Random, schema: &Value) -> Value {
    let least = schema["minLength"].as_i64().unwrap_or(0);
    let most = schema["maxLength"].as_i64().unwrap_or(least + 2);
    let mut strings: Vec<String> = vec![
        String::new(),
        "a b".into(),
        "A".into(),
        "\u{1}\n".into(),
        "\"q\" \\ 'x'".into(),
    ];
    for length in [least - 1, least, most, most + 1] {
        let letter = random.pick(&["a", "ä", "😀", "e\u{301}"]);
        strings.push(letter.repeat(usize::try_from(length.clamp(0, 64)).unwrap_or(0)));
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let found = PATTERNS.iter().filter(|(known, _, _)| *known == pattern);
        strings.extend(
            found.flat_map(|found| [found.1.to_owned(), found.2.to_owned(), found.2.to_owned()]),
        );
    }
    if let Some(format) = schema["format"].as_str() {
        let (good, bad) = of_format(format);
        strings = good
            .iter()
            .chain(bad)
            .map(|text| (*text).to_owned())
            .collect();
        strings.push(random.pick(ODD).to_owned());
    }
    random.one_of(&strings).into()
}

fn fitting_number(random: &mut Random, schema: &Value, whole: bool) -> Value {
    let bound = |name: &str| schema[name].as_f64();
    let step = bound("multipleOf").unwrap_or(1.0);
    let least = bound("minimum");
    let most = bound("maximum");
    let start = least.or(most.map(|most| most - step * 4.0)).unwrap_or(0.0);
    let mut number =
        (start / step).ceil() * step + step * f64::from(u8::try_from(random.below(2)).unwrap_or(0));
    if schema["exclusiveMinimum"] == true && least.is_some_and(|least| number <= least) {
        number += step;
    }
    if most
        .is_some_and(|most| number > most || schema["exclusiveMaximum"] == true && number >= most)
    {
        number -= step;
    }
    if whole || number.fract() == 0.0 && number.abs() < 1e15 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole numbers of a schema are small"
        )]
        return (number.ceil() as i64).into();
    }
    number.into()
}

fn edge_of_number(random: &mut Random, schema: &Value) -> Value {
    let mut numbers = vec![
        json!(0),
        json!(-1),
        json!(1.5),
        json!(2.0),
        json!(2_147_483_647),
        json!(2_147_483_648_i64),
        json!(-2_147_483_649_i64),
        json!(9_223_372_036_854_775_807_i64),
        json!(9_223_372_036_854_775_808_u64),
        json!(1e20),
        json!(9_007_199_254_740_993_i64),
        json!(3.5e38),
        json!(1e-7),
        json!(4.35),
        json!(0.29),
        json!(19.99),
        json!(0.1),
        json!(100),
        json!(1e21),
        json!(10),
    ];
    for bound in ["minimum", "maximum"] {
        if let Some(whole) = schema[bound].as_i64() {
            for near in [
                whole.saturating_sub(1),
                whole,
                whole,
                whole.saturating_add(1),
            ] {
                numbers.extend([json!(near), json!(near)]);
            }
        } else if let Some(bound) = schema[bound].as_f64() {
            for near in [bound - 0.5, bound, bound + 0.5] {
                numbers.extend([json!(near), json!(near), json!(near)]);
            }
        }
    }
    if let Some(step) = schema["multipleOf"].as_f64() {
        for times in [1.0, 2.0, 3.0, 7.0, 2.5] {
            numbers.extend([json!(step * times), json!(step * times)]);
        }
        numbers.extend([json!(4), json!(6), json!(7)]);
    }
    random.one_of(&numbers)
}

fn edge_of_list(random: &mut Random, schema: &Value) -> Value {
    let least = schema["minItems"].as_i64().unwrap_or(0).clamp(0, 8);
    let most = schema["maxItems"].as_i64().unwrap_or(least + 2).clamp(0, 8);
    let list = |random: &mut Random, length: i64| -> Vec<Value> {
        (0..length).map(|_| fit(random, &schema["items"])).collect()
    };
    match random.below(6) {
        0 => list(random, (least - 1).max(0)).into(),
        1 => list(random, most + 1).into(),
        2 => {
            let mut items = list(random, most.max(1));
            items.push(items[0].clone());
            items.into()
        }
        3 => {
            let mut items = list(random, least);
            items.push(Value::Null);
            items.into()
        }
        _ => {
            let mut items = list(random, least.max(1));
            let at = random.below(items.len());
            items[at] = edge(random, &schema["items"]);
            items.into()
        }
    }
}

fn fitting_object(random: &mut Random, schema: &Value) -> Value {
    let mut object = Map::new();
    if schema["additionalProperties"].is_object() {
        for index in 0..length(random, schema, "minProperties", "maxProperties") {
            object.insert(
                format!("k{index}"),
                fit(random, &schema["additionalProperties"]),
            );
        }
        return object.into();
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let required = schema["required"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == name));
        if required || !random.one_in(3) {
            object.insert(name.clone(), fit(random, property));
        }
    }
    object.into()
}

fn edge_of_object(random: &mut Random, schema: &Value) -> Value {
    let mut object = match fit(random, schema) {
        Value::Object(object) => object,
        other => return other,
    };
    if schema["x-kubernetes-embedded-resource"] == true && random.one_in(2) {
        let metadata = [
            json!({"name": ""}),
            json!({"name": "A_b"}),
            json!({"labels": {"a b": "c"}}),
            json!({"nosuch": 1}),
            json!("x"),
            json!({"creationTimestamp": "x"}),
            json!({"annotations": {"a": 1}}),
            json!({"finalizers": ["a"]}),
            Value::Null,
        ];
        match random.below(4) {
            0 => object.insert(
                "apiVersion".into(),
                random.one_of(&[json!("a/b/c"), json!(""), json!(1)]),
            ),
            1 => object.insert(
                "kind".into(),
                random.one_of(&[json!("a b"), json!(""), json!(1), json!("pod")]),
            ),
            2 => object.remove(random.pick(&["apiVersion", "kind", "metadata"])),
            _ => object.insert("metadata".into(), random.one_of(&metadata)),
        };
        return object.into();
    }
    let inner = &schema["additionalProperties"];
    let names: Vec<String> = match schema["properties"].as_object() {
        Some(properties) => properties.keys().cloned().collect(),
        None => ["k0", "a.b/c", "A b", ""].map(str::to_owned).to_vec(),
    };
    match random.below(8) {
        0 => {
            object.insert("nosuch".into(), json!({"a": [null]}));
        }
        1 if !object.is_empty() => {
            let names: Vec<String> = object.keys().cloned().collect();
            object.remove(&random.one_of(&names));
        }
        2 if inner.is_object() => {
            for index in 0..6 {
                object.insert(format!("m{index}"), fit(random, inner));
            }
        }
        _ if names.is_empty() => {}
        _ => {
            let name = random.one_of(&names);
            let property = if inner.is_object() {
                inner
            } else {
                &schema["properties"][&name]
            };
            object.insert(name, edge(random, property));
        }
    }
    object.into()
}

/// Strings that some format may take by mistake.
const ODD: &[&str] = &[
    "",
    " ",
    "0",
    "4111111111111111",
    "::ffff:1.2.3.4",
    "a@[1.2.3.4]",
    "0000-01-01",
    "1.2.3.4",
    "01.2.3.4",
    "a",
    "2024-02-30",
    "1h",
    "1d",
    "P1D",
    "é",
    "http://",
    "a\u{0}b",
    "true",
    "null",
    "-1",
    "1e3",
    "٣",
];

/// Strings of a format, and strings that are not.
fn of_format(format: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match format {
        "bsonobjectid" => (
            &["507f1f77bcf86cd799439011"],
            &["507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
        ),
        "uri" => (
            &["http://a.b/c", "/a"],
            &[
                "a b",
                "a",
                "http://[::1",
                "//",
                "http://a b",
                ":",
                "urn:a:b",
                "mailto:a@b.c",
            ],
        ),
        "email" => (
            &["a@b.c"],
            &[
                "a",
                "a@",
                "@b",
                "a@b@c",
                "A <a@b.c>",
                "a b@c.d",
                "\"a b\"@c.d",
                "a@b",
                "ä@b.c",
            ],
        ),
        "hostname" => (
            &["a.b", "a"],
            &[
                "a_b", "-a", "a.", "a..b", "A.B", "1", "1.2.3.4", "a-.b", "xn--a",
            ],
        ),
        "ipv4" => (
            &["1.2.3.4"],
            &[
                "1.2.3",
                "1.2.3.256",
                "::1",
                "01.2.3.4",
                "1.2.3.4/8",
                "::ffff:1.2.3.4",
            ],
        ),
        "ipv6" => (
            &["::1", "2001:db8::1"],
            &[
                "1.2.3.4",
                ":::",
                "1::2::3",
                "::ffff:1.2.3.4",
                "fe80::1%eth0",
                "::g",
            ],
        ),
        "cidr" => (
            &["10.0.0.0/8", "::/0"],
            &[
                "10.0.0.0",
                "10.0.0.0/33",
                "10.0.0.1/8",
                "a/8",
                "10.0.0.0/08",
                "::ffff:1.2.3.0/120",
            ],
        ),
        "mac" => (
            &["01:23:45:67:89:ab", "01-23-45-67-89-ab"],
            &[
                "01:23:45:67:89",
                "0123.4567.89ab",
                "01:23:45:67:89:ag",
                "01:23:45:67:89:ab:cd:ef",
            ],
        ),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => (
            match format {
                "uuid3" => &["a3bb189e-8bf9-3888-9912-ace4e6543002"],
                "uuid5" => &["a3bb189e-8bf9-5888-9912-ace4e6543002"],
                _ => &["a3bb189e-8bf9-4888-9912-ace4e6543002"],
            },
            &[
                "a3bb189e8bf938889912ace4e6543002",
                "A3BB189E-8BF9-4888-9912-ACE4E6543002",
                "{a3bb189e-8bf9-4888-9912-ace4e6543002}",
                "a3bb189e-8bf9-0888-9912-ace4e6543002",
                "a3bb189e-8bf9-4888-c912-ace4e6543002",
                "a3bb189e-8bf9-4888-9912",
            ],
        ),
        "isbn" | "isbn10" => (
            &["0321751043"],
            &[
                "0321751044",
                "032175104X",
                "0-321-75104-3",
                "9783161484100",
                "123",
            ],
        ),
        "isbn13" => (
            &["9783161484100"],
            &["978-3-16-148410-0", "9783161484101", "0321751043"],
        ),
        "creditcard" => (
            &["4111111111111111", "4111-1111-1111-1111"],
            &[
                "4111111111111112",
                "1",
                "4111 1111 1111 1111",
                "378282246310005",
            ],
        ),
        "ssn" => (
            &["123-45-6789", "123 45 6789"],
            &["123456789", "12-345-6789", "000-00-0000"],
        ),
        "hexcolor" => (&["#fff", "#FFFFFF"], &["fff", "#ffff", "#ggg", "ffffff"]),
        "rgbcolor" => (
            &["rgb(0,0,0)", "rgb(255, 255, 255)"],
            &["rgb(256,0,0)", "rgb(0,0)", "rgb(1%,2%,3%)", "rgb( 1,2,3 )"],
        ),
        "byte" => (&["aGk=", ""], &["aGk", "a-_=", "a", "aGk=\n", "ä"]),
        "date" => (
            &["2024-02-29"],
            &[
                "2023-02-29",
                "2024-2-9",
                "2024-02-29T00:00:00Z",
                "0000-01-01",
                "10000-01-01",
                "2024-13-01",
            ],
        ),
        "duration" => (
            &["1h", "1m30s"],
            &[
                "1",
                "1d",
                "-1h",
                "1 hour",
                "2 weeks",
                "1.5h",
                "1h 1m",
                "1H",
                "P1D",
                "1µs",
                "99999999999h",
            ],
        ),
        "datetime" | "date-time" => (
            &["2024-02-29T10:00:00Z", "2024-02-29T10:00:00.123+01:00"],
            &[
                "2024-02-29",
                "2024-02-29 10:00:00Z",
                "2024-02-29T10:00:00",
                "2024-02-29t10:00:00z",
                "2024-02-29T24:00:00Z",
                "2024-02-29T23:59:60Z",
                "2023-02-29T10:00:00Z",
                "2024-02-29T10:00Z",
                "2024-02-29T10:00:00,5Z",
                "2024-02-29T10:00:00+0100",
            ],
        ),
        "k8s-short-name" => (&["a", "a-1"], &["A", "a.b", "-a", "1a", "a_b", ""]),
        "k8s-long-name" => (&["a.b", "a"], &["A.b", "a..b", "a_b", ".a", ""]),
        _ => (&["a", "", "1"], &["ä", "1.5"]),
    }
}
