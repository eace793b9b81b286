//! The protobuf form of OpenAPI documents: gnostic's messages, which hold extensions as YAML.

use std::collections::HashMap;
use std::sync::LazyLock;

use bytes::Bytes;
use kubewright_apimachinery::yaml;
use serde_json::Value;

const TEXT: &str = include_str!("gnostic.txt");

/// The message of a document of v2.
pub(super) const V2: &str = "v2.Document";
/// The message of a document of v3.
pub(super) const V3: &str = "v3.Document";

/// A line of the table.
struct Field {
    /// The member, or the condition of a message that is one of several.
    member: &'static str,
    number: u32,
    repeated: bool,
    ty: &'static str,
}

/// Returns the protobuf form of a document.
pub(super) fn encode(document: &Value, message: &str) -> Bytes {
    let mut out = Vec::with_capacity(1 << 16);
    write_message(&mut out, message, document);
    out.into()
}

fn fields(message: &str) -> &'static [Field] {
    static MESSAGES: LazyLock<HashMap<&str, Vec<Field>>> = LazyLock::new(|| {
        let messages = TEXT.split("\n[").skip(1);
        let messages = messages.filter_map(|message| message.split_once("]\n"));
        messages
            .map(|(name, lines)| (name, lines.lines().filter_map(field).collect()))
            .collect()
    });
    MESSAGES.get(message).map_or(&[], Vec::as_slice)
}

fn field(line: &'static str) -> Option<Field> {
    let (member, rest) = line.split_once('\t')?;
    let (number, ty) = rest.split_once('\t')?;
    let one = ty.strip_prefix("repeated ");
    Some(Field {
        member,
        number: number.parse().ok()?,
        repeated: one.is_some(),
        ty: one.unwrap_or(ty),
    })
}

fn write_message(out: &mut Vec<u8>, message: &str, value: &Value) {
    let fields = fields(message);
    if fields
        .first()
        .is_some_and(|field| field.member.starts_with('?'))
    {
        let met = fields.iter().find(|field| meets(field.member, value));
        if let Some(field) = met {
            write_all(out, field, value, true);
        }
        return;
    }
    let Some(members) = value.as_object() else {
        return;
    };
    for field in fields {
        match field.member {
            "*" | "x-*" | "/*" => {
                for (name, value) in members {
                    if kind_of(fields, name) == field.member {
                        write_named(out, field, name, value);
                    }
                }
            }
            name => {
                if let Some(value) = members.get(name) {
                    write_all(out, field, value, false);
                }
            }
        }
    }
}

/// The line that a member without one of its own belongs to.
fn kind_of(fields: &[Field], name: &str) -> &'static str {
    if fields.iter().any(|field| field.member == name) {
        ""
    } else if name.starts_with("x-") {
        "x-*"
    } else if name.starts_with('/') && fields.iter().any(|field| field.member == "/*") {
        "/*"
    } else {
        "*"
    }
}

fn meets(condition: &str, value: &Value) -> bool {
    match condition.trim_start_matches('?') {
        "" => true,
        "bool" => value.is_boolean(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        condition => match condition.split_once('=') {
            Some((member, wanted)) => value.get(member).is_some_and(|value| value == wanted),
            None => value.get(condition).is_some(),
        },
    }
}

/// A field, or each item of one that is repeated. Values that Go takes for empty are left out, but for `one_of` several.
fn write_all(out: &mut Vec<u8>, field: &Field, value: &Value, one_of: bool) {
    match value {
        Value::Array(items) if field.repeated => {
            for item in items {
                write_one(out, field, item, true);
            }
        }
        // A type is a list of one, and so are the items of a list.
        value => write_one(out, field, value, one_of || field.repeated),
    }
}

fn write_one(out: &mut Vec<u8>, field: &Field, value: &Value, with_empty: bool) {
    match field.ty {
        "string" => {
            let text = value.as_str().unwrap_or_default();
            if with_empty || !text.is_empty() {
                write_bytes(out, field.number, text.as_bytes());
            }
        }
        "bool" => {
            let value = value.as_bool().unwrap_or_default();
            if with_empty || value {
                write_tag(out, field.number, 0);
                out.push(value.into());
            }
        }
        "int64" => {
            let value = value.as_i64().unwrap_or_default();
            if with_empty || value != 0 {
                write_tag(out, field.number, 0);
                write_varint(out, value.cast_unsigned());
            }
        }
        "double" => {
            let value = value.as_f64().unwrap_or_default();
            if with_empty || value != 0.0 {
                write_tag(out, field.number, 1);
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        ty => {
            let mut inner = Vec::new();
            write_value(&mut inner, ty, value);
            write_bytes(out, field.number, &inner);
        }
    }
}

fn write_value(out: &mut Vec<u8>, ty: &str, value: &Value) {
    if ty == "Any" {
        const YAML: u32 = 2;
        let mut text = yaml::to_string(value);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        write_bytes(out, YAML, text.as_bytes());
    } else {
        write_message(out, ty, value);
    }
}

/// A member with its name, as gnostic holds all that has names of any kind.
fn write_named(out: &mut Vec<u8>, field: &Field, name: &str, value: &Value) {
    const NAME: u32 = 1;
    const VALUE: u32 = 2;
    let mut inner = Vec::new();
    write_value(&mut inner, field.ty, value);
    let mut pair = Vec::with_capacity(name.len() + inner.len() + 8);
    write_bytes(&mut pair, NAME, name.as_bytes());
    write_bytes(&mut pair, VALUE, &inner);
    write_bytes(out, field.number, &pair);
}

fn write_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    write_tag(out, number, 2);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    write_varint(out, u64::from(number << 3 | wire_type));
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    // Seven bits at a time, with a mark that more follow.
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_of_the_table_is_a_message_of_it() {
        let messages = TEXT.split("\n[").skip(1);
        for (name, _) in messages.filter_map(|message| message.split_once("]\n")) {
            assert!(!fields(name).is_empty(), "{name}");
            for field in fields(name) {
                let simple = matches!(field.ty, "string" | "bool" | "int64" | "double" | "Any");
                assert!(
                    simple || !fields(field.ty).is_empty(),
                    "{name} {}",
                    field.ty
                );
            }
        }
    }

    #[test]
    fn a_document_without_paths_is_its_title() {
        let document =
            json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": "unversioned"}});
        assert_eq!(
            &encode(&document, V2)[..],
            b"\x0a\x032.0\x12\x19\x0a\x0aKubernetes\x12\x0bunversioned"
        );
    }

    #[test]
    fn a_schema_holds_its_extensions_as_yaml() {
        let document = json!({"a": {
            "type": "object",
            "additionalProperties": false,
            "x-kubernetes-list-type": "set",
        }});
        let schema: &[&[u8]] = &[
            b"\xaa\x01\x02\x10\x00",
            b"\xb2\x01\x08\x0a\x06object",
            b"\xfa\x01\x20\x0a\x16x-kubernetes-list-type\x12\x06\x12\x04set\n",
        ];
        let schema = schema.concat();
        let mut named = Vec::new();
        write_bytes(&mut named, 1, b"a");
        write_bytes(&mut named, 2, &schema);
        let mut schemas = Vec::new();
        write_bytes(&mut schemas, 1, &named);
        assert_eq!(encode(&document, "v2.Schemas"), schemas);
    }
}
