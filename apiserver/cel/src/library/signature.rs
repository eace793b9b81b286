//! Reads the signatures of the tables, such as `list(T).slice(int, int) -> list(T)` without the name.

use std::sync::Arc;

use super::declaration::{Declaration, Overload};
use crate::types::Type;

/// The overload that a declaration stands for.
pub(super) fn overload(declaration: &Declaration) -> Overload {
    let mut reader = Reader {
        rest: declaration.signature,
    };
    let mut arguments = Vec::new();
    let member = !reader.rest.starts_with('(');
    if member {
        arguments.push(reader.read_type());
        reader.skip(".");
    }
    reader.skip("(");
    while !reader.rest.starts_with(')') {
        arguments.push(reader.read_type());
        reader.skip(", ");
    }
    reader.skip(")");
    reader.skip(" -> ");
    let result = reader.read_type();
    let generic = arguments.iter().chain([&result]).any(has_parameter);
    Overload {
        id: declaration.id,
        member,
        arguments,
        result,
        run: declaration.run,
        guarded: declaration.guarded,
        generic,
    }
}

fn has_parameter(of: &Type) -> bool {
    matches!(of, Type::Param(_)) || of.parameters().into_iter().any(has_parameter)
}

struct Reader<'s> {
    rest: &'s str,
}

impl Reader<'_> {
    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest);
    }

    fn read_type(&mut self) -> Type {
        let length = self
            .rest
            .find(|character: char| {
                !(character.is_alphanumeric() || matches!(character, '.' | '_'))
            })
            .unwrap_or(self.rest.len());
        // The dot of a member function's target is not part of the type's name.
        let length = self.rest[..length].trim_end_matches('.').len();
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        let mut parameters = Vec::new();
        if !name.is_empty() && self.rest.starts_with('(') && TAKES_PARAMETERS.contains(&name) {
            self.skip("(");
            while !self.rest.starts_with(')') {
                parameters.push(self.read_type());
                self.skip(", ");
            }
            self.skip(")");
        }
        make(name, parameters)
    }
}

fn make(name: &str, parameters: Vec<Type>) -> Type {
    let mut parameters = parameters.into_iter();
    let mut parameter = || parameters.next().unwrap_or(Type::Dyn);
    match name {
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "list" => Type::list(parameter()),
        "map" => Type::map(parameter(), parameter()),
        "optional" => Type::optional(parameter()),
        "type" => Type::Type(Some(Arc::new(parameter()))),
        "net.IP" | "net.CIDR" => Type::Opaque(name.into(), Arc::new([])),
        _ if name.len() == 1 => Type::Param(name.into()),
        _ => Type::object(name),
    }
}

const TAKES_PARAMETERS: &[&str] = &["list", "map", "optional", "type"];

#[cfg(test)]
mod tests {
    use super::super::{LIBRARIES, json_patch};
    use super::*;

    /// The signature as the declaration writes it.
    fn written(overload: &Overload) -> String {
        let names: Vec<String> = overload.arguments.iter().map(name).collect();
        let (target, rest) = if overload.member {
            (format!("{}.", names[0]), &names[1..])
        } else {
            (String::new(), &names[..])
        };
        format!(
            "{target}({}) -> {}",
            rest.join(", "),
            name(&overload.result)
        )
    }

    fn declarations() -> impl Iterator<Item = &'static Declaration> {
        LIBRARIES.iter().flat_map(|(_, table)| *table)
    }

    fn name(of: &Type) -> String {
        of.in_message().replace("optional_type", "optional")
    }

    #[test]
    fn every_declared_signature_reads_back_as_it_is_written() {
        for declaration in declarations().chain(json_patch::DECLARATIONS) {
            let overload = overload(declaration);
            assert_eq!(
                written(&overload),
                declaration.signature,
                "{}",
                declaration.id
            );
        }
    }

    #[test]
    fn no_two_overloads_share_an_id() {
        let mut ids: Vec<&str> = declarations().map(|one| one.id).collect();
        ids.sort_unstable();
        let before = ids.len();
        ids.dedup();
        assert_eq!(before, ids.len());
    }
}
