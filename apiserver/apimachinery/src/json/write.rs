//! Writes JSON trees as `serde_json` does, but looks through strings in steps of words, and writes fractions as Go does.

use serde_json::Value;

use super::plain::is_plain;

/// Appends the text of a value.
#[expect(
    clippy::missing_panics_doc,
    reason = "a number can always be written to memory"
)]
pub fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) if number.is_f64() => {
            write_float(out, number.as_f64().unwrap_or_default());
        }
        Value::Number(number) => {
            serde_json::to_writer(out, number).expect("a number can always be written to memory");
        }
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(out, item);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut before = b'{';
            for (name, member) in members {
                out.push(before);
                write_string(out, name);
                out.push(b':');
                write(out, member);
                before = b',';
            }
            if members.is_empty() {
                out.push(b'{');
            }
            out.push(b'}');
        }
    }
}

/// Appends a number as Go writes it: without a fraction where it has none, and with an exponent where it is far from one. A
/// negative zero is written as it will be read.
fn write_float(out: &mut Vec<u8>, number: f64) {
    let size = number.abs();
    let text = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        if size < 1.0 {
            text
        } else {
            text.replace('e', "e+")
        }
    } else if size == 0.0 {
        "0".to_owned()
    } else {
        number.to_string()
    };
    out.extend_from_slice(text.as_bytes());
}

/// Whether a value is the float `-0.0`, which [`write()`] writes as `0`, and Go as `-0`.
pub fn is_negative_zero(value: &Value) -> bool {
    let float = value.as_f64();
    float.is_some_and(|float| float == 0.0 && float.is_sign_negative())
}

/// Appends a string with its quotes.
#[expect(
    clippy::missing_panics_doc,
    reason = "a string can always be written to memory"
)]
#[inline]
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        serde_json::to_writer(out, text).expect("a string can always be written to memory");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        write(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn of_zeros_one_is_negative() {
        assert!(is_negative_zero(&json!(-0.0)));
        for other in [json!(0.0), json!(0), json!(-1.0), json!("-0"), json!(null)] {
            assert!(!is_negative_zero(&other), "{other}");
        }
    }

    #[test]
    fn every_sort_of_value_is_written_as_serde_json_writes_it() {
        let value = json!({
            "": {}, "list": [[], 1, -2, 2.5, 1e300, true, false, null], "text": "a\"b\\c\u{1}\n\u{7f}é",
            "eighteen bytes at": "sixteen bytes, \"", "object": {"a": {"b": "c"}}
        });
        assert_eq!(written(&value), value.to_string());
    }

    proptest! {
        #[test]
        fn every_string_is_written_as_serde_json_writes_it(
            pieces in prop::collection::vec(prop_oneof![4 => "[ -~ä€]{0,20}", 1 => any::<String>()], 0..6)
        ) {
            let value = Value::from(pieces.concat());
            prop_assert_eq!(written(&value), value.to_string());
        }
    }
}
