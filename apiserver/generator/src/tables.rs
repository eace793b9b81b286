//! Writes the tables.

use std::fmt::Write as _;

use crate::model::{Field, Types, Written};

const TYPES_HEAD: &str = "\
# Written by kubewright-apiserver-generator; do not edit.
#
# `type <name> [<group/version>] [atomic]`: a type, with the group and version of its kind if it has one.
# ` <field> <number> <type> [flags]`: a field, in the order in which Go writes them. The number is protobuf's; `2.5` is field 5 of the message in field 2. Types:
# `*` pointer, `[]` list, `{}` map (with the Go type of its keys), `name=` what Go calls it. Flags: `!` required and always
# written, `required`, `always`, `omitzero`; `in=` the structs that Go inlines around it; `merge[=key]`, `replace`, `retain`
# for strategic merge; `keys=`, `set`, `atomic`, `granular` for server-side apply.
";

/// Every type with its fields.
pub(crate) fn types(types: &Types) -> String {
    let mut out = TYPES_HEAD.to_owned();
    for (name, ty) in types {
        let package = name.rsplit_once('.').map_or("", |(package, _)| package);
        let served_as = ty.served_as.as_ref().map(|gv| format!(" {gv}"));
        let atomic = if ty.atomic { " atomic" } else { "" };
        let served_as = served_as.unwrap_or_default();
        let _ = write!(out, "\ntype {name}{served_as}{atomic}\n");
        let mut fields: Vec<_> = ty.fields.iter().collect();
        fields.sort_by_key(|(json, field)| order(json, field));
        for (json, field) in fields {
            let _ = writeln!(out, " {json} {}", line(field, package));
        }
    }
    out
}

/// Where Go writes a field: what an object is comes first, and what no message has last.
fn order<'f>(json: &str, field: &'f Field) -> (usize, &'f [usize]) {
    let turn = match json {
        _ if !field.place.is_empty() => 2,
        "kind" => 0,
        "apiVersion" => 1,
        _ => 3,
    };
    (turn, &field.place)
}

fn line(field: &Field, package: &str) -> String {
    let mut words = vec![
        number(&field.number),
        format!(
            "{}{}",
            if field.pointer { "*" } else { "" },
            field.shape.text(package)
        ),
    ];
    words.extend(
        match (field.required, field.written) {
            (true, Written::Always) => &["!"][..],
            (true, _) => &["required"],
            (false, Written::Always) => &["always"],
            (false, _) => &[],
        }
        .iter()
        .map(|word| (*word).to_owned()),
    );
    if field.written == Written::NotZero {
        words.push("omitzero".to_owned());
    }
    if !field.inlined_in.is_empty() {
        words.push(format!("in={}", field.inlined_in.join(".")));
    }
    words.extend(field.merge.iter().cloned());
    words.join(" ")
}

fn number(path: &[u32]) -> String {
    if path.is_empty() {
        return "-".to_owned();
    }
    let numbers: Vec<String> = path.iter().map(u32::to_string).collect();
    numbers.join(".")
}
