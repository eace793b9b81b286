//! JSON bodies against what Go's decoder says of them.

use proptest::prelude::*;
use serde_json::{Number, json};

use super::*;

fn error(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_body_becomes_a_value() {
    let text = r#"{"a":[1,-2,2.5,1e3,true,null,"x\u00e9"],"b":{}}"#;
    let parsed = parse(text.as_bytes()).unwrap();
    assert_eq!(
        parsed.value,
        json!({"a": [1, -2, 2.5, 1000.0, true, null, "xé"], "b": {}})
    );
    assert!(parsed.duplicates.is_empty());
}

#[test]
fn fields_that_stand_twice_are_named_once_and_the_last_one_wins() {
    let text = r#"{"spec":{"a":1,"a":2,"a":3,"list":[{"x":1},{"x":1,"x":2}]},"spec2":1,"spec2":1}"#;
    let parsed = parse(text.as_bytes()).unwrap();
    assert_eq!(parsed.value["spec"]["a"], 3);
    assert_eq!(
        parsed.duplicates,
        [
            "duplicate field \"spec.a\"",
            "duplicate field \"spec.list[1].x\"",
            "duplicate field \"spec2\"",
        ]
    );
}

#[test]
fn malformed_text_is_refused_in_the_words_of_go() {
    // Each pair is what `json.Unmarshal` of Go 1.26 answers.
    let cases = [
        ("", "unexpected end of JSON input"),
        (" ", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[", "unexpected end of JSON input"),
        ("{\"a\"", "unexpected end of JSON input"),
        ("{\"a\":", "unexpected end of JSON input"),
        ("{\"a\":1", "unexpected end of JSON input"),
        ("{\"a\":1,", "unexpected end of JSON input"),
        (
            "{\"a\":1,}",
            "invalid character '}' looking for beginning of object key string",
        ),
        (
            "{a:1}",
            "invalid character 'a' looking for beginning of object key string",
        ),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        (
            "{\"a\":1 \"b\"}",
            "invalid character '\"' after object key:value pair",
        ),
        ("[1 2]", "invalid character '2' after array element"),
        (
            "[1,]",
            "invalid character ']' looking for beginning of value",
        ),
        (
            "[,1]",
            "invalid character ',' looking for beginning of value",
        ),
        ("]", "invalid character ']' looking for beginning of value"),
        ("}", "invalid character '}' looking for beginning of value"),
        ("1 2", "invalid character '2' after top-level value"),
        ("{} x", "invalid character 'x' after top-level value"),
        (
            "nul",
            "invalid character ' ' in literal null (expecting 'l')",
        ),
        (
            "nulx",
            "invalid character 'x' in literal null (expecting 'l')",
        ),
        (
            "trux",
            "invalid character 'x' in literal true (expecting 'e')",
        ),
        (
            "falsy",
            "invalid character 'y' in literal false (expecting 'e')",
        ),
        (
            "tru",
            "invalid character ' ' in literal true (expecting 'e')",
        ),
        ("-", "invalid character ' ' in numeric literal"),
        ("-a", "invalid character 'a' in numeric literal"),
        (
            "1.",
            "invalid character ' ' after decimal point in numeric literal",
        ),
        (
            "1.x",
            "invalid character 'x' after decimal point in numeric literal",
        ),
        ("1e", "invalid character ' ' in exponent of numeric literal"),
        (
            "1e+",
            "invalid character ' ' in exponent of numeric literal",
        ),
        (
            "1ex",
            "invalid character 'x' in exponent of numeric literal",
        ),
        ("01", "invalid character '1' after top-level value"),
        ("\"abc", "unexpected end of JSON input"),
        ("\"a\nb\"", "invalid character '\\n' in string literal"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        (
            "\"\\u12g4\"",
            "invalid character 'g' in \\u hexadecimal character escape",
        ),
        (
            "'a'",
            "invalid character '\\'' looking for beginning of value",
        ),
        ("ä", "invalid character 'Ã' looking for beginning of value"),
        (
            "\x01",
            "invalid character '\\x01' looking for beginning of value",
        ),
        (
            "<html>",
            "invalid character '<' looking for beginning of value",
        ),
        (
            "kind: Pod",
            "invalid character 'k' looking for beginning of value",
        ),
        (
            "{\"a\":tru}",
            "invalid character '}' in literal true (expecting 'e')",
        ),
        (
            "{1:2}",
            "invalid character '1' looking for beginning of object key string",
        ),
        ("[\"a\":1]", "invalid character ':' after array element"),
        ("\"a\"b", "invalid character 'b' after top-level value"),
        ("{\"a\"}", "invalid character '}' after object key"),
        (
            "{,}",
            "invalid character ',' looking for beginning of object key string",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text:?}");
    }
}

#[test]
fn text_that_is_no_utf_8_is_mended_as_go_does() {
    let parsed = parse(b"{\"a\":\"x\xff\"}").unwrap();
    assert_eq!(parsed.value, json!({"a": "x\u{fffd}"}));
}

#[test]
fn half_a_surrogate_pair_is_replaced_as_go_does() {
    let parsed = parse(br#"["\ud83d\ude00","\ud83dx","\ude00","\ud83d\u00e9"]"#).unwrap();
    assert_eq!(
        parsed.value,
        json!(["\u{1f600}", "\u{fffd}x", "\u{fffd}", "\u{fffd}é"])
    );
}

#[test]
fn numbers_are_read_exactly() {
    for text in [
        "0",
        "-0.0",
        "7",
        "-7",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "999999999999999999",
        "1000000000000000000",
        "0.1",
        "1e-400",
        "123456789.123456789",
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse(text.as_bytes()).unwrap().value, value, "{text}");
    }
    assert_eq!(parse(b"-0").unwrap().value, json!(0));
    assert_eq!(error("[1e999]"), "number out of range");
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    let refused = "invalid character '[' exceeded max depth";
    assert_eq!(error(&nested(100_000)), refused);
    assert_eq!(error(&nested(128)), refused);
    assert!(parse(nested(127).as_bytes()).is_ok());
}

fn is_negative_zero(number: &Number) -> bool {
    number.is_f64()
        && number
            .as_f64()
            .is_some_and(|number| number == 0.0 && number.is_sign_negative())
}

/// The value with zeros for its negative zeros: `-0` is one to serde_json, and an integer to Go.
fn without_negative_zeros(value: Value) -> Value {
    match value {
        Value::Number(number) if is_negative_zero(&number) => json!(0),
        Value::Array(items) => items.into_iter().map(without_negative_zeros).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (name, without_negative_zeros(value)))
                .collect()
        }
        value => value,
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn strings_are_read_as_serde_json_reads_them(text in any::<String>()) {
        let value = Value::from(text);
        prop_assert_eq!(parse(value.to_string().as_bytes()).unwrap().value, value);
    }

    #[test]
    fn what_serde_json_reads_is_read_alike(text in r#"[\[\]{}:,"a0-9.eE+\-tfn \\u]{0,24}"#) {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let [read, expected] = [parse(text.as_bytes()).unwrap().value, value].map(without_negative_zeros);
            prop_assert_eq!(read, expected, "{}", text);
        } else {
            prop_assert!(parse(text.as_bytes()).is_err());
        }
    }
}
