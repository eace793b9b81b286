//! The checks of well-typed expressions that Kubernetes adds: constants that must be readable, and literals of one type.

use regex::Regex;

use crate::ast::{Element, Expr, Kind, Literal};
use crate::checked::Checked;
use crate::library::{Clause, clauses, regular};
use crate::source::Problem;
use crate::types::Type;
use crate::value::{Value, convert};

/// The checks that run on a well-typed expression: constant durations, timestamps, patterns and formats must be
/// readable, and the elements of a literal must be of the same type even where one is dynamic.
pub(super) fn validate(checked: &Checked, problems: &mut Vec<Problem>) {
    Validator {
        checked,
        problems,
        formatting: 0,
    }
    .visit(&checked.root);
}

struct Validator<'c, 'p> {
    checked: &'c Checked,
    problems: &'p mut Vec<Problem>,
    /// How many calls of `format` are around; their arguments may be of any types.
    formatting: usize,
}

impl Validator<'_, '_> {
    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => self.visit(operand),
            Kind::Call {
                function,
                target,
                arguments,
            } => {
                self.call(expr, function, target.as_deref(), arguments);
                let formats = usize::from(function == "format");
                self.formatting += formats;
                if let Some(target) = target {
                    self.visit(target);
                }
                for argument in arguments {
                    self.visit(argument);
                }
                self.formatting -= formats;
            }
            Kind::List(elements) => {
                self.same_types(elements.iter().map(|one| (&one.value, one.optional)), true);
                for element in elements {
                    self.visit(&element.value);
                }
            }
            Kind::Map(entries) => {
                self.same_types(entries.iter().map(|one| (&one.key, false)), false);
                self.same_types(entries.iter().map(|one| (&one.value, one.optional)), false);
                for entry in entries {
                    self.visit(&entry.key);
                    self.visit(&entry.value);
                }
            }
            Kind::Object { fields, .. } => {
                for field in fields {
                    self.visit(&field.value);
                }
            }
            Kind::Comprehension(inner) => {
                for part in [
                    &inner.range,
                    &inner.init,
                    &inner.condition,
                    &inner.step,
                    &inner.result,
                ] {
                    self.visit(part);
                }
            }
        }
    }

    fn type_of(&self, expr: &Expr) -> &Type {
        &self.checked.types[expr.id as usize]
    }

    fn problem(&mut self, expr: &Expr, message: String) {
        let at = self.checked.positions[expr.id as usize];
        self.problems.push(Problem::at(at, message));
    }

    fn call(&mut self, expr: &Expr, function: &str, target: Option<&Expr>, arguments: &[Expr]) {
        if let (
            Some(target),
            "format",
            [
                Expr {
                    kind: Kind::List(elements),
                    ..
                },
            ],
        ) = (target, function, arguments)
        {
            if let Kind::Literal(Literal::String(format)) = &target.kind {
                self.format(expr, format, elements);
            }
            return;
        }
        let Some(Expr {
            kind: Kind::Literal(literal),
            id,
        }) = arguments.first()
        else {
            return;
        };
        let readable = match (function, literal) {
            ("duration", literal) => literal_converts(literal, &Type::Duration),
            ("timestamp", literal) => literal_converts(literal, &Type::Timestamp),
            ("matches", Literal::String(pattern)) => {
                regular::compile(pattern).map(|_: Regex| ()).is_ok()
            }
            _ => true,
        };
        if !readable {
            let at = self.checked.positions[*id as usize];
            self.problems
                .push(Problem::at(at, format!("invalid {function} argument")));
        }
    }

    fn same_types<'x>(&mut self, parts: impl Iterator<Item = (&'x Expr, bool)>, stop: bool) {
        if self.formatting > 0 {
            return;
        }
        let mut first: Option<Type> = None;
        for (expr, optional) in parts {
            let found = self.type_of(expr);
            let found = if optional {
                found.as_optional().unwrap_or(found)
            } else {
                found
            }
            .clone();
            match &first {
                None => first = Some(found),
                Some(first) if *first == found => {}
                Some(first) => {
                    let (first, found) = (first.in_message(), found.in_message());
                    self.problem(expr, format!("expected type '{first}' but found '{found}'"));
                    if stop {
                        return;
                    }
                }
            }
        }
    }

    fn format(&mut self, expr: &Expr, format: &str, elements: &[Element]) {
        let found = match clauses(format) {
            Ok(found) => found,
            Err(message) => return self.problem(expr, message),
        };
        let wanted = found.len();
        for (index, clause) in found.into_iter().enumerate() {
            let Some(element) = elements.get(index) else {
                return self.problem(expr, format!("index {index} out of range"));
            };
            if let Some((at, name)) = self.unfit(clause, &element.value) {
                let message = format!("error during formatting: {}", clause.refusal(&name));
                return self.problem(at, message);
            }
        }
        if elements.len() > wanted {
            let given = elements.len();
            self.problem(
                expr,
                format!(
                    "too many arguments supplied to string.format (expected {wanted}, got {given})"
                ),
            );
        }
    }

    /// The part of an argument that a clause cannot write, and its type.
    fn unfit<'x>(&self, clause: Clause, expr: &'x Expr) -> Option<(&'x Expr, String)> {
        let found = self.type_of(expr);
        if *found != Type::Dyn && !clause.takes(found) {
            return Some((expr, found.name().to_owned()));
        }
        if clause != Clause::Text {
            return None;
        }
        match &expr.kind {
            Kind::List(elements) => elements
                .iter()
                .find_map(|element| self.unfit(clause, &element.value)),
            Kind::Map(entries) => entries.iter().find_map(|entry| {
                self.unfit(clause, &entry.key)
                    .or_else(|| self.unfit(clause, &entry.value))
            }),
            _ => None,
        }
    }
}

fn literal_converts(literal: &Literal, to: &Type) -> bool {
    let value = match literal {
        Literal::String(text) => Value::text(text.as_str()),
        Literal::Int(value) => Value::Int(*value),
        _ => return true,
    };
    convert(&value, to).is_ok()
}
