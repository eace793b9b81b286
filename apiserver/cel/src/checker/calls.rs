//! Calls: which function a name means and which of its overloads fit the arguments.

use std::sync::Arc;

use super::Checker;
use crate::ast::{Expr, Kind, Literal, Name, operators};
use crate::checked::Reference;
use crate::library::Function;
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn call(
        &mut self,
        expr: &Expr,
        name: &Name,
        target: Option<&Expr>,
        arguments: &[Expr],
    ) -> Type {
        if name == operators::OPTIONAL_SELECT {
            return self.optional_select(expr, arguments);
        }
        for argument in arguments {
            self.check(argument);
        }
        let Some(target) = target else {
            let plain = name.trim_start_matches('.');
            return match self.declarations.function(plain) {
                Some(function) => {
                    let function = Arc::clone(function);
                    self.overloads(expr, &function, None, arguments, true)
                }
                None => self.undeclared(expr.id, name),
            };
        };
        if let Some(prefix) = target.qualified_name()
            && let Some(function) = self.declarations.function(&format!("{prefix}.{name}"))
        {
            let function = Arc::clone(function);
            return self.overloads(expr, &function, None, arguments, true);
        }
        self.check(target);
        match self.declarations.function(name) {
            Some(function) => {
                let function = Arc::clone(function);
                self.overloads(expr, &function, Some(target), arguments, false)
            }
            None => self.undeclared(expr.id, name),
        }
    }

    fn optional_select(&mut self, expr: &Expr, arguments: &[Expr]) -> Type {
        let [operand, field] = arguments else {
            return Type::Error;
        };
        let Kind::Literal(Literal::String(field)) = &field.kind else {
            return Type::Error;
        };
        let found = self.field(expr, operand, field, true);
        self.substitution.apply(&found, false)
    }

    fn overloads(
        &mut self,
        expr: &Expr,
        function: &Arc<Function>,
        target: Option<&Expr>,
        arguments: &[Expr],
        qualified: bool,
    ) -> Type {
        if matches!(function.name, operators::AND | operators::OR) {
            return self.logic(expr, function, arguments);
        }
        let mut types: Vec<Type> = target
            .into_iter()
            .map(|target| self.type_of(target))
            .collect();
        types.extend(arguments.iter().map(|argument| self.type_of(argument)));
        let mut fitting = Vec::new();
        let mut result: Option<Type> = None;
        for (index, overload) in function.overloads.iter().enumerate() {
            if overload.member != target.is_some() || overload.arguments.len() != types.len() {
                continue;
            }
            let Some(found) = self.fits(overload, &types) else {
                continue;
            };
            fitting.push(index);
            result = Some(match result {
                None => found,
                Some(Type::Dyn) => Type::Dyn,
                Some(before) if before == found => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let message = self.no_overload(function.name, &types, target.is_some());
            self.problem(expr.id, message);
            return Type::Error;
        };
        let function = Arc::clone(function);
        self.refer(
            expr,
            Reference::Function {
                function,
                overloads: fitting,
                qualified,
            },
        );
        result
    }

    fn logic(&mut self, expr: &Expr, function: &Arc<Function>, arguments: &[Expr]) -> Type {
        let mut fits = true;
        for argument in arguments {
            let found = self.type_of(argument);
            if !self.substitution.assignable(&found, &Type::Bool) {
                self.mismatch(argument.id, &Type::Bool, &found);
                fits = false;
            }
        }
        if !fits {
            return Type::Error;
        }
        let function = Arc::clone(function);
        self.refer(
            expr,
            Reference::Function {
                function,
                overloads: vec![0],
                qualified: true,
            },
        );
        Type::Bool
    }

    fn no_overload(&self, name: &str, types: &[Type], member: bool) -> String {
        let mut names: Vec<String> = types
            .iter()
            .map(|one| self.substitution.apply(one, true).in_message())
            .collect();
        let target = if member {
            format!("{}.", names.remove(0))
        } else {
            String::new()
        };
        format!(
            "found no matching overload for '{name}' applied to '{target}({})'",
            names.join(", ")
        )
    }
}
