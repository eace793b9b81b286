//! The type checker: finds the type of each node of an expression and the overloads of each call, or reports errors.

mod calls;
mod constants;
mod literals;
mod unify;

use std::sync::Arc;

use crate::ast::{Ast, Comprehension, Expr, Kind, Name};
use crate::checked::{Checked, Reference};
use crate::declarations::{Declarations, JSON_PATCH};
use crate::escape::escape;
use crate::library::Overload;
use crate::parser::RESERVED;
use crate::source::{Issues, Problem};
use crate::types::Type;
use unify::Substitution;

/// Checks an expression.
pub(crate) fn check(
    declarations: &Declarations,
    source: &str,
    ast: Ast,
) -> Result<Checked, Issues> {
    let nodes = ast.positions.len();
    let mut checker = Checker {
        declarations,
        positions: ast.positions,
        types: vec![Type::Error; nodes],
        references: vec![None; nodes],
        scopes: Vec::new(),
        substitution: Substitution::default(),
        problems: Vec::new(),
    };
    checker.check(&ast.root);
    let Checker {
        mut types,
        references,
        positions,
        substitution,
        mut problems,
        ..
    } = checker;
    for known in &mut types {
        *known = substitution.apply(known, true);
    }
    let checked = Checked {
        root: ast.root,
        types,
        references,
        positions,
    };
    if problems.is_empty() {
        constants::validate(&checked, &mut problems);
    }
    if problems.is_empty() {
        Ok(checked)
    } else {
        Err(Issues::of(source, problems))
    }
}

struct Checker<'e> {
    declarations: &'e Declarations,
    positions: Vec<u32>,
    types: Vec<Type>,
    references: Vec<Option<Reference>>,
    /// The variables of the comprehensions around the place that is being checked.
    scopes: Vec<(Name, Type)>,
    substitution: Substitution,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn check(&mut self, expr: &Expr) {
        let found = match &expr.kind {
            Kind::Literal(literal) => literal.type_of(),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select {
                operand,
                field,
                test_only,
            } => self.select(expr, operand, field, *test_only),
            Kind::Call {
                function,
                target,
                arguments,
            } => self.call(expr, function, target.as_deref(), arguments),
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Object { name, fields } => self.object(expr, name, fields),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
        };
        self.types[expr.id as usize] = found;
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.types[expr.id as usize].clone()
    }

    fn known_type_of(&self, expr: &Expr) -> Type {
        self.substitution
            .apply(&self.types[expr.id as usize], false)
    }

    fn refer(&mut self, expr: &Expr, to: Reference) {
        self.references[expr.id as usize] = Some(to);
    }

    fn problem(&mut self, id: u32, message: String) {
        self.problems
            .push(Problem::at(self.positions[id as usize], message));
    }

    fn undeclared(&mut self, id: u32, name: &str) -> Type {
        self.problem(
            id,
            format!("undeclared reference to '{name}' (in container '')"),
        );
        Type::Error
    }

    fn mismatch(&mut self, id: u32, expected: &Type, actual: &Type) {
        let (expected, actual) = (expected.in_message(), actual.in_message());
        self.problem(
            id,
            format!("expected type '{expected}' but found '{actual}'"),
        );
    }

    fn ident(&mut self, expr: &Expr, name: &Name) -> Type {
        match self.resolve(name) {
            Some((reference, found)) => {
                self.refer(expr, reference);
                found
            }
            None => self.undeclared(expr.id, name),
        }
    }

    /// A variable of a comprehension, a declared variable or the name of a type.
    fn resolve(&self, name: &Name) -> Option<(Reference, Type)> {
        if let Some((name, found)) = self.scopes.iter().rev().find(|(scoped, _)| scoped == name) {
            return Some((Reference::Variable(name.clone()), found.clone()));
        }
        self.resolve_declared(name.trim_start_matches('.'))
    }

    fn resolve_declared(&self, name: &str) -> Option<(Reference, Type)> {
        if let Some(found) = self.declarations.variable(name) {
            return Some((
                Reference::Variable(Name::Owned(name.to_owned())),
                found.clone(),
            ));
        }
        let named = self.declarations.named_type(name)?;
        Some((
            Reference::Type(named.clone()),
            Type::Type(Some(Arc::new(named))),
        ))
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, field: &str, test_only: bool) -> Type {
        if !test_only
            && !self.is_scoped(operand)
            && let Some(prefix) = operand.qualified_name()
            && let Some((reference, found)) = self.resolve_declared(&format!("{prefix}.{field}"))
        {
            self.refer(expr, reference);
            return found;
        }
        let found = self.field(expr, operand, field, false);
        if test_only {
            Type::Bool
        } else {
            self.substitution.apply(&found, false)
        }
    }

    /// Whether a chain of selections begins with the variable of a comprehension.
    fn is_scoped(&self, operand: &Expr) -> bool {
        operand
            .first_name()
            .is_some_and(|first| self.scopes.iter().any(|(name, _)| name == first))
    }

    fn field(&mut self, expr: &Expr, operand: &Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.known_type_of(operand);
        let inner = operand.as_optional();
        let found = match inner.unwrap_or(&operand) {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(name) => self.object_field(expr.id, name, field),
            Type::Variable(_) => {
                self.substitution
                    .assignable(&Type::Dyn, inner.unwrap_or(&operand));
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    let name = other.in_message();
                    self.problem(
                        expr.id,
                        format!("type '{name}' does not support field selection"),
                    );
                }
                Type::Dyn
            }
        };
        if inner.is_some() || optional {
            Type::optional(found)
        } else {
            found
        }
    }

    fn object_field(&mut self, id: u32, name: &str, field: &str) -> Type {
        if self.declarations.is_open(name) {
            return Type::Dyn;
        }
        let Some(object) = self.declarations.object(name) else {
            self.problem(id, format!("unexpected failed resolution of '{name}'"));
            return Type::Error;
        };
        // Words of the language name fields of these names without being escaped, too.
        let escaped = || escape(field).and_then(|escaped| object.get(&escaped));
        let is_reserved = self.declarations.has_keywords_as_fields() && RESERVED.contains(&field);
        if let Some(found) = object
            .get(field)
            .or_else(|| escaped().filter(|_| is_reserved))
        {
            found.clone()
        } else if name == JSON_PATCH && self.declarations.patches {
            // The real server knows any field of this type, and no type that fits one that it does not have.
            Type::Opaque("".into(), Arc::new([]))
        } else {
            self.problem(id, format!("undefined field '{field}'"));
            Type::Error
        }
    }

    fn comprehension(&mut self, loop_: &Comprehension) -> Type {
        self.check(&loop_.range);
        self.check(&loop_.init);
        let range = self.known_type_of(&loop_.range);
        let accumulated = self.type_of(&loop_.init);
        let two = loop_.second.is_some();
        let (first, second) = match &range {
            Type::List(element) if two => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.substitution.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let name = other.in_message();
                self.problem(
                    loop_.range.id,
                    format!(
                        "expression of type '{name}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                );
                (Type::Error, Type::Error)
            }
        };
        let scope = self.scopes.len();
        self.scopes
            .push((loop_.accumulator.clone(), accumulated.clone()));
        self.scopes.push((loop_.variable.clone(), first));
        if let Some(name) = &loop_.second {
            self.scopes.push((name.clone(), second));
        }
        self.check(&loop_.condition);
        self.assert_type(&loop_.condition, &Type::Bool);
        self.check(&loop_.step);
        self.assert_type(&loop_.step, &accumulated);
        self.scopes.truncate(scope + 1);
        self.check(&loop_.result);
        self.scopes.truncate(scope);
        self.known_type_of(&loop_.result)
    }

    fn assert_type(&mut self, expr: &Expr, expected: &Type) {
        let actual = self.type_of(expr);
        if !self.substitution.assignable(expected, &actual) {
            self.mismatch(expr.id, expected, &actual);
        }
    }

    fn fits(&mut self, overload: &Overload, arguments: &[Type]) -> Option<Type> {
        let (wanted, result) = self.substitution.instance(overload);
        self.substitution
            .all_assignable(arguments, &wanted)
            .then(|| self.substitution.apply(&result, false))
    }
}
