//! Unification: which types are assignable, and what they infer for type variables.

use std::sync::Arc;

use crate::library::Overload;
use crate::types::Type;

/// What has been found out about unknown types. Attempts that fail leave no trace.
#[derive(Default)]
pub(super) struct Substitution {
    bindings: Vec<Option<Type>>,
    /// Earlier states of bindings that were changed, to go back to.
    trail: Vec<(usize, Option<Type>)>,
}

impl Substitution {
    /// A type that is not known yet.
    pub(super) fn fresh(&mut self) -> Type {
        self.bindings.push(None);
        Type::Variable(u32::try_from(self.bindings.len() - 1).unwrap_or(u32::MAX))
    }

    /// The signature of an overload with its parameters as unknown types.
    pub(super) fn instance(&mut self, overload: &Overload) -> (Vec<Type>, Type) {
        if !overload.generic {
            return (overload.arguments.clone(), overload.result.clone());
        }
        let mut names: Vec<(Arc<str>, Type)> = Vec::new();
        let arguments = overload
            .arguments
            .iter()
            .map(|argument| self.instantiate(argument, &mut names))
            .collect();
        let result = self.instantiate(&overload.result, &mut names);
        (arguments, result)
    }

    fn instantiate(&mut self, of: &Type, names: &mut Vec<(Arc<str>, Type)>) -> Type {
        if let Type::Param(name) = of {
            if let Some((_, known)) = names.iter().find(|(known, _)| known == name) {
                return known.clone();
            }
            let fresh = self.fresh();
            names.push((Arc::clone(name), fresh.clone()));
            return fresh;
        }
        rebuild(of, &mut |inner| self.instantiate(inner, names))
    }

    /// The type with all that is known put in; `close` makes the rest dynamic.
    pub(super) fn apply(&self, of: &Type, close: bool) -> Type {
        if let Type::Variable(number) = of {
            return match self.binding(*number) {
                Some(bound) => self.apply(bound, close),
                None if close => Type::Dyn,
                None => of.clone(),
            };
        }
        rebuild(of, &mut |inner| self.apply(inner, close))
    }

    pub(super) fn assignable(&mut self, left: &Type, right: &Type) -> bool {
        self.attempt(|this| this.fits(left, right))
    }

    pub(super) fn all_assignable(&mut self, left: &[Type], right: &[Type]) -> bool {
        self.attempt(|this| this.all_fit(left, right))
    }

    fn attempt(&mut self, try_it: impl FnOnce(&mut Self) -> bool) -> bool {
        let mark = self.trail.len();
        if try_it(self) {
            return true;
        }
        while self.trail.len() > mark {
            if let Some((index, before)) = self.trail.pop() {
                self.bindings[index] = before;
            }
        }
        false
    }

    fn binding(&self, number: u32) -> Option<&Type> {
        self.bindings.get(number as usize).and_then(Option::as_ref)
    }

    fn bind(&mut self, number: u32, to: Type) {
        let index = number as usize;
        self.trail.push((index, self.bindings[index].take()));
        self.bindings[index] = Some(to);
    }

    fn all_fit(&mut self, left: &[Type], right: &[Type]) -> bool {
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| self.fits(left, right))
    }

    fn fits(&mut self, left: &Type, right: &Type) -> bool {
        if let Type::Variable(number) = right {
            match self.substitutes(left, *number) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Type::Variable(number) = left {
            return self.substitutes(right, *number).0;
        }
        match (left, right) {
            (Type::Dyn | Type::Error, _)
            | (_, Type::Dyn | Type::Error)
            | (Type::Type(_), Type::Type(_)) => true,
            (Type::Null, other) | (other, Type::Null) => takes_null(other),
            (Type::List(left), Type::List(right)) => self.fits(left, right),
            (Type::Map(left), Type::Map(right)) => {
                self.fits(&left.0, &right.0) && self.fits(&left.1, &right.1)
            }
            (Type::Opaque(left, parameters), Type::Opaque(right, others)) => {
                left == right && self.all_fit(parameters, others)
            }
            (left, right) => left == right,
        }
    }

    /// Whether the unknown type may be `other`, and whether something was known of it before.
    fn substitutes(&mut self, other: &Type, number: u32) -> (bool, bool) {
        if *other == Type::Variable(number) {
            return (true, true);
        }
        if let Some(bound) = self.binding(number).cloned() {
            if *other == bound {
                return (true, true);
            }
            if !self.fits(other, &bound) {
                return (false, true);
            }
            let general = most_general(other, &bound);
            if self.absent_from(number, &general) {
                self.bind(number, general);
            }
            return (true, true);
        }
        if self.absent_from(number, other) {
            self.bind(number, other.clone());
            return (true, false);
        }
        (false, false)
    }

    fn absent_from(&self, number: u32, within: &Type) -> bool {
        match within {
            Type::Variable(other) if *other == number => false,
            Type::Variable(other) => self
                .binding(*other)
                .is_none_or(|bound| self.absent_from(number, bound)),
            other => other
                .parameters()
                .into_iter()
                .all(|inner| self.absent_from(number, inner)),
        }
    }
}

/// The more general of two types that fit each other.
pub(super) fn most_general(left: &Type, right: &Type) -> Type {
    if equal_or_less_specific(left, right) {
        left.clone()
    } else {
        right.clone()
    }
}

fn equal_or_less_specific(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Dyn | Type::Variable(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Variable(_)) => false,
        (Type::List(left), Type::List(right)) => equal_or_less_specific(left, right),
        (Type::Map(left), Type::Map(right)) => {
            equal_or_less_specific(&left.0, &right.0) && equal_or_less_specific(&left.1, &right.1)
        }
        (Type::Opaque(name, parameters), Type::Opaque(other, others)) => {
            name == other
                && parameters.len() == others.len()
                && parameters
                    .iter()
                    .zip(others.iter())
                    .all(|(left, right)| equal_or_less_specific(left, right))
        }
        (left, right) => left == right,
    }
}

fn takes_null(other: &Type) -> bool {
    matches!(
        other,
        Type::Null | Type::Opaque(..) | Type::Object(_) | Type::Duration | Type::Timestamp
    )
}

fn rebuild(of: &Type, change: &mut impl FnMut(&Type) -> Type) -> Type {
    match of {
        Type::List(element) => Type::list(change(element)),
        Type::Map(entry) => Type::map(change(&entry.0), change(&entry.1)),
        Type::Type(Some(inner)) => Type::Type(Some(Arc::new(change(inner)))),
        Type::Opaque(name, parameters) if !parameters.is_empty() => {
            Type::Opaque(Arc::clone(name), parameters.iter().map(change).collect())
        }
        other => other.clone(),
    }
}
