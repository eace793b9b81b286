//! Named formats: the names of Kubernetes, and a few of OpenAPI.

use super::declaration::{Declaration, Evaluated, guarded, open};
use crate::failure::Failure;
use crate::named_format::{FORMATS, NamedFormat};
use crate::value::{Object, Value};

macro_rules! format_functions {
    ($($name:literal => $index:literal),* $(,)?) => {
        pub(super) const DECLARATIONS: &[Declaration] = &[
            $(open(
                concat!("format.", $name),
                concat!("format.", $name),
                "() -> kubernetes.NamedFormat",
                |_| Ok(Value::Object(Object::Format(&FORMATS[$index].1))),
            ),)*
            guarded("format.named", "format-named", "(string) -> optional(kubernetes.NamedFormat)", named),
            guarded("validate", "format-validate", "kubernetes.NamedFormat.(string) -> optional(list(string))", validate),
        ];
    };
}

format_functions! {
    "dns1123Label" => 0,
    "dns1123Subdomain" => 1,
    "dns1035Label" => 2,
    "qualifiedName" => 3,
    "dns1123LabelPrefix" => 4,
    "dns1123SubdomainPrefix" => 5,
    "dns1035LabelPrefix" => 6,
    "labelValue" => 7,
    "uri" => 8,
    "uuid" => 9,
    "byte" => 10,
    "date" => 11,
    "datetime" => 12,
}

fn named<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(name)] = values else {
        return Err(Failure::no_such_overload());
    };
    let found = NamedFormat::named(name);
    Ok(found.map_or(Value::Optional(None), |format| {
        Value::some(Value::Object(Object::Format(format)))
    }))
}

fn validate<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::Object(Object::Format(format)), Value::String(text)] = values else {
        return Err(Failure::no_such_overload());
    };
    let problems = format.validate(text);
    if problems.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(
        problems.into_iter().map(Value::text).collect(),
    )))
}
