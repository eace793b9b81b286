//! The types of lists, maps and objects that an expression writes out.

use super::Checker;
use super::unify::most_general;
use crate::ast::{Element, Entry, Expr, Field, Name};
use crate::checked::Reference;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn list(&mut self, elements: &[Element]) -> Type {
        let mut joined = None;
        for element in elements {
            self.check(&element.value);
            let found = self.type_of(&element.value);
            let found = if element.optional {
                self.unwrapped(&element.value, found)
            } else {
                found
            };
            joined = Some(self.join(joined, found));
        }
        Type::list(joined.unwrap_or_else(|| self.substitution.fresh()))
    }

    pub(super) fn map(&mut self, entries: &[Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(&entry.key);
            let key = self.type_of(&entry.key);
            keys = Some(self.join(keys, key));
            self.check(&entry.value);
            let found = self.type_of(&entry.value);
            let found = if entry.optional {
                self.unwrapped(&entry.value, found)
            } else {
                found
            };
            values = Some(self.join(values, found));
        }
        let keys = keys.unwrap_or_else(|| self.substitution.fresh());
        let values = values.unwrap_or_else(|| self.substitution.fresh());
        Type::map(keys, values)
    }

    pub(super) fn object(&mut self, expr: &Expr, name: &str, fields: &[Field]) -> Type {
        let plain = name.trim_start_matches('.');
        let Some(named) = self.declarations.made_type(plain) else {
            return self.undeclared(expr.id, name);
        };
        self.refer(expr, Reference::Variable(Name::Owned(plain.to_owned())));
        let result = if let Type::Object(_) = named {
            named
        } else {
            self.problem(expr.id, format!("'{}' is not a message type", named.name()));
            Type::Error
        };
        for field in fields {
            self.check(&field.value);
            let wanted = if let Type::Object(name) = &result {
                self.object_field(field.id, name, &field.name)
            } else {
                self.problem(
                    field.id,
                    format!("unexpected failed resolution of '{plain}'"),
                );
                Type::Error
            };
            let found = self.type_of(&field.value);
            let found = if field.optional {
                self.unwrapped(&field.value, found)
            } else {
                found
            };
            if !self.substitution.assignable(&wanted, &found) {
                let (wanted, found) = (wanted.in_message(), found.in_message());
                let message = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{found}'",
                    field.name
                );
                self.problem(field.id, message);
            }
        }
        result
    }

    fn unwrapped(&mut self, expr: &Expr, found: Type) -> Type {
        if let Some(inner) = found.as_optional() {
            return inner.clone();
        }
        if found != Type::Dyn {
            self.mismatch(expr.id, &Type::optional(found.clone()), &found);
        }
        found
    }

    /// The common type of the elements so far and one more. Literals of several types are refused later, since `format`
    /// takes them.
    fn join(&mut self, before: Option<Type>, found: Type) -> Type {
        let Some(before) = before else { return found };
        if self.substitution.assignable(&before, &found) {
            return most_general(&before, &found);
        }
        Type::Dyn
    }
}
