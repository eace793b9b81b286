//! The nodes of a program: what the planner makes and an evaluation follows.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ast::Name;
use crate::cost::Cost;
use crate::coverage::Watch;
use crate::library::Function;
use crate::library::regular::Use;
use crate::value::{Key, Value};

/// A part of a program.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
    Equal(Box<[Self; 2]>),
    NotEqual(Box<[Self; 2]>),
    Call(Box<Call>),
    /// Whether a value is one of some constants.
    OneOf(Box<OneOf>),
    /// `a.or(b)`, or `a.orValue(b)`.
    OptionalOr(Box<OptionalOr>),
    List(Box<[(Self, bool)]>),
    Map(Box<[(Self, Self, bool)]>),
    Record(Box<RecordNode>),
    Fold(Box<Fold>),
    Named(Box<Named>),
    /// A condition whose values are seen.
    Watched(Box<(Self, Arc<Watch>)>),
}

/// The constants of a list, to look a value up in.
#[derive(Debug)]
pub(crate) struct OneOf {
    pub(crate) value: Node,
    pub(crate) keys: BTreeSet<Key<'static>>,
    /// The floating point numbers among them, which are no keys.
    pub(crate) doubles: Vec<f64>,
}

/// A variable or another value, with the fields and indexes that are selected of it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
    /// Whether only the presence of the last one is asked for.
    pub(crate) test: bool,
}

#[derive(Debug)]
pub(crate) enum Base {
    Variable(Name),
    Local(usize),
    Value(Node),
    /// Condition, value if true, value if false.
    Conditional(Box<[Node; 3]>),
}

#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) by: By,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) enum By {
    Constant(Value<'static>),
    Value(Node),
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: Arc<Function>,
    /// The only overload that fits, if there is only one.
    pub(crate) overload: Option<usize>,
    pub(crate) arguments: Vec<Node>,
    pub(crate) cost: Cost,
    pub(crate) pattern: Option<(Use, regex::Regex)>,
}

#[derive(Debug)]
pub(crate) struct OptionalOr {
    pub(crate) first: Node,
    pub(crate) otherwise: Node,
    pub(crate) unwrap: bool,
}

#[derive(Debug)]
pub(crate) struct RecordNode {
    pub(crate) name: Arc<str>,
    pub(crate) fields: Vec<(Arc<str>, Node, bool)>,
}

#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) variable: usize,
    pub(crate) second: Option<usize>,
    pub(crate) accumulator: usize,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Step,
    pub(crate) result: Node,
}

/// How a fold goes on. Lists and maps grow in place, which no expression can tell from making new ones.
#[derive(Debug)]
pub(crate) enum Step {
    Any(Node),
    Append {
        only_if: Option<Node>,
        added: Node,
    },
    Insert {
        only_if: Option<Node>,
        entry: Vec<Node>,
    },
}

/// A value under a name, made when it is first used.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) slot: usize,
    pub(crate) value: Node,
    pub(crate) body: Node,
}
