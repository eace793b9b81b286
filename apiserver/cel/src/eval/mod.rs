//! Evaluates a program, and counts its cost.

mod attribute;
mod construct;
mod fold;

use crate::cost;
use crate::failure::Failure;
use crate::library::{Evaluated, regular};
use crate::node::{Call, Node, OptionalOr};
use crate::value::{Key, Text, Value, equal};
use crate::variables::Variables;

/// The most bytes of values that the calls of one evaluation make. No expression makes more within its cost, but by sums of lists, by
/// `replace` and by `format`.
const MAX_MADE: usize = 128 << 20;

/// The state of one evaluation.
pub(crate) struct Context<'v, 'a> {
    variables: &'v Variables<'a>,
    locals: Vec<Local<'a>>,
    spent: u64,
    limit: u64,
    /// The bytes of the values that calls made.
    made: usize,
}

/// A variable of a comprehension.
#[derive(Clone)]
enum Local<'a> {
    /// Not made yet.
    Pending(&'a Node),
    Known(Evaluated<'a>),
}

impl<'v, 'a> Context<'v, 'a> {
    pub(crate) fn new(variables: &'v Variables<'a>, slots: usize, limit: u64) -> Self {
        let locals = vec![Local::Known(Ok(Value::Null)); slots];
        Self {
            variables,
            locals,
            spent: 0,
            limit,
            made: 0,
        }
    }

    /// The cost so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    fn charge(&mut self, cost: u64) -> Result<(), Failure> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit {
            Err(Failure::CostLimit)
        } else {
            Ok(())
        }
    }

    pub(crate) fn eval(&mut self, node: &'a Node) -> Evaluated<'a> {
        match node {
            Node::Constant(value) => Ok(borrowed(value)),
            Node::Attribute(attribute) => self.attribute(attribute, true),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Equal(sides) => self.equality(sides, false),
            Node::NotEqual(sides) => self.equality(sides, true),
            Node::Call(call) => self.call(call),
            Node::OneOf(node) => {
                let value = self.eval(&node.value)?;
                let is_double = |wanted: f64| node.doubles.contains(&wanted);
                let found = matches!(value, Value::Double(value) if is_double(value))
                    || key_of(&value).is_some_and(|key| node.keys.contains(&key));
                Ok(Value::Bool(found))
            }
            Node::OptionalOr(node) => self.optional_or(node),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Record(record) => self.record(record),
            Node::Fold(fold) => self.fold(fold),
            Node::Named(named) => {
                self.locals[named.slot] = Local::Pending(&named.value);
                self.eval(&named.body)
            }
            Node::Watched(watched) => {
                let result = self.eval(&watched.0);
                watched.1.saw(&result);
                result
            }
        }
    }

    /// `&&` and `||`: the side that decides wins over an error of the other one, whichever comes first.
    fn logic(&mut self, terms: &'a [Node; 2], decisive: bool) -> Evaluated<'a> {
        let mut failure = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    failure.get_or_insert_with(Failure::no_such_overload);
                }
                Err(fatal) if fatal.is_fatal() => return Err(fatal),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn equality(&mut self, sides: &'a [Node; 2], negated: bool) -> Evaluated<'a> {
        let (left, left_failure) = self.argument(&sides[0])?;
        let (right, right_failure) = self.argument(&sides[1])?;
        self.charge(cost::equality(&left, &right, negated))?;
        if let Some(failure) = left_failure.or(right_failure) {
            return Err(failure);
        }
        let same = equal(&left, &right);
        // What cannot be compared is not equal, but asking for equality itself fails.
        if negated {
            Ok(Value::Bool(!matches!(same, Ok(true))))
        } else {
            same.map(Value::Bool)
        }
    }

    /// The value of an argument, or an error to be raised once all arguments have been looked at.
    fn argument(&mut self, node: &'a Node) -> Result<(Value<'a>, Option<Failure>), Failure> {
        parts(self.eval(node))
    }

    fn call(&mut self, call: &'a Call) -> Evaluated<'a> {
        match call.arguments.as_slice() {
            [] => self.run(call, &[]),
            [only] => {
                let (value, failure) = self.argument(only)?;
                if failure.is_some() {
                    cost::of_failed_list(call.function.name, call.overload.is_some())?;
                }
                self.run_or_fail(call, &[value], failure)
            }
            [left, right] => {
                let left = self.eval(left);
                if left.as_ref().is_err_and(Failure::is_fatal) {
                    return left;
                }
                match (left, self.eval(right)) {
                    (Ok(left), Ok(right)) => self.run(call, &[left, right]),
                    (left, right) => self.failed_pair(call, left, right),
                }
            }
            more => {
                let mut values = Vec::with_capacity(more.len());
                for node in more {
                    values.push(self.eval(node)?);
                }
                self.run(call, &values)
            }
        }
    }

    /// A call with two arguments of which one failed.
    #[cold]
    fn failed_pair(
        &mut self,
        call: &'a Call,
        left: Evaluated<'a>,
        right: Evaluated<'a>,
    ) -> Evaluated<'a> {
        let (left, left_failure) = parts(left)?;
        let (right, right_failure) = parts(right)?;
        if right_failure.is_some() {
            cost::of_failed_key(call.function.name, call.overload.is_some())?;
        }
        self.run_or_fail(call, &[left, right], left_failure.or(right_failure))
    }

    fn run_or_fail(
        &mut self,
        call: &'a Call,
        values: &[Value<'a>],
        failure: Option<Failure>,
    ) -> Evaluated<'a> {
        let Some(failure) = failure else {
            return self.run(call, values);
        };
        if call.function.name == crate::ast::operators::NOT_STRICTLY_FALSE {
            self.charge(1)?;
            return Ok(Value::Bool(true));
        }
        self.charge((call.cost)(values, None))?;
        Err(failure)
    }

    fn run(&mut self, call: &'a Call, values: &[Value<'a>]) -> Evaluated<'a> {
        let result = match &call.pattern {
            Some((use_, pattern)) => regular::run_compiled(*use_, pattern, values),
            None => call.function.run(call.overload, values),
        };
        if let Err(failure) = &result {
            if failure.is_fatal() {
                return result;
            }
            cost::of_no_list(call.function.name, call.overload.is_some(), values)?;
        }
        self.charge((call.cost)(values, result.as_ref().ok()))?;
        self.count(&result)?;
        match fault(&result) {
            Some(failure) => Err(failure),
            None => result,
        }
    }

    /// Limits what calls make whose cost does not depend on the size of their results, such as the sum of two lists, which cel-go does
    /// not copy.
    fn count(&mut self, result: &Evaluated<'a>) -> Result<(), Failure> {
        let bytes = match result {
            Ok(Value::List(list)) => list.len().saturating_mul(size_of::<Value<'a>>()),
            // Most of them are written part by part, which takes longer than a copy.
            Ok(Value::String(text)) => text.len().saturating_mul(8),
            Ok(Value::Bytes(bytes)) => bytes.len(),
            _ => return Ok(()),
        };
        self.made = self.made.saturating_add(bytes);
        if self.made > MAX_MADE {
            Err(Failure::CostLimit)
        } else {
            Ok(())
        }
    }

    fn optional_or(&mut self, node: &'a OptionalOr) -> Evaluated<'a> {
        match self.eval(&node.first)? {
            Value::Optional(Some(value)) if node.unwrap => valid((*value).clone()),
            Value::Optional(Some(value)) => Ok(Value::Optional(Some(value))),
            Value::Optional(None) => self.eval(&node.otherwise),
            _ => Err(Failure::no_such_overload()),
        }
    }

    fn local(&mut self, slot: usize) -> Evaluated<'a> {
        match &self.locals[slot] {
            Local::Known(value) => value.clone(),
            Local::Pending(node) => {
                let value = self.eval(node);
                if value.as_ref().is_err_and(Failure::is_fatal) {
                    return value;
                }
                self.locals[slot] = Local::Known(value.clone());
                value
            }
        }
    }

    fn set(&mut self, slot: usize, value: Value<'a>) {
        self.locals[slot] = Local::Known(Ok(value));
    }
}

/// Why a result is none: it was read of JSON that its schema does not fit.
#[inline]
fn fault(result: &Evaluated<'_>) -> Option<Failure> {
    let reason = result.as_ref().ok()?.fault()?;
    Some(Failure::new(reason.to_owned()))
}

/// The value, unless it was read of JSON that its schema does not fit.
fn valid(value: Value<'_>) -> Evaluated<'_> {
    match value {
        Value::Invalid(reason) => Err(Failure::new(reason.to_string())),
        value => Ok(value),
    }
}

/// The value of an argument, or an error to be raised once all arguments have been looked at.
fn parts(result: Evaluated<'_>) -> Result<(Value<'_>, Option<Failure>), Failure> {
    match result {
        Ok(value) => Ok((value, None)),
        Err(fatal) if fatal.is_fatal() => Err(fatal),
        Err(failure) => Ok((Value::Null, Some(failure))),
    }
}

/// A constant of the program, its text borrowed from there.
fn borrowed<'a>(value: &'a Value<'static>) -> Value<'a> {
    match value {
        Value::String(Text::Shared(text)) => Value::String(Text::Borrowed(text)),
        other => other.clone(),
    }
}

fn key_of<'a>(value: &Value<'a>) -> Option<Key<'a>> {
    Key::numeric_or_exact(value)
}
