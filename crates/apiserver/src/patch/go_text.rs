//! JSON values as Go prints its own: `map[a:[1 2] b:x]`. Errors of strategic merge patches show them so.

use std::fmt::{self, Display};

use serde_json::Value;

use crate::floats::format_double;

/// Shows a value as Go's `%v` does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoText<'a>(pub(crate) &'a Value);

impl Display for GoText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::String(text) => f.write_str(text),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
                Some(float) => f.write_str(&format_double(float)),
                None => write!(f, "{number}"),
            },
            Value::Array(list) => {
                f.write_str("[")?;
                for (at, item) in list.iter().enumerate() {
                    let space = if at == 0 { "" } else { " " };
                    write!(f, "{space}{}", GoText(item))?;
                }
                f.write_str("]")
            }
            Value::Object(map) => {
                f.write_str("map[")?;
                for (at, (key, value)) in map.iter().enumerate() {
                    let space = if at == 0 { "" } else { " " };
                    write!(f, "{space}{key}:{}", GoText(value))?;
                }
                f.write_str("]")
            }
        }
    }
}

/// The Go type of a decoded value.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_go_prints_them() {
        let value = json!({"b": [1, "x y", null], "a": {"c": true}});
        assert_eq!(
            GoText(&value).to_string(),
            "map[a:map[c:true] b:[1 x y <nil>]]"
        );
        assert_eq!(GoText(&json!({})).to_string(), "map[]");
    }

    #[test]
    fn floats_look_as_go_prints_them() {
        for (float, text) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (2_097_152.5, "2.0971525e+06"),
            (4_294_967_296.0, "4.294967296e+09"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e100, "1e+100"),
            (-12.25, "-12.25"),
        ] {
            assert_eq!(GoText(&json!(float)).to_string(), text);
        }
    }
}
