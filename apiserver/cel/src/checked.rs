//! A checked expression: its tree, the type of each node, and what each name and call refers to.

use std::sync::Arc;

use crate::ast::{Expr, Name};
use crate::library::Function;
use crate::types::Type;

/// A checked expression, with the facts about each node that the planner needs.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) root: Expr,
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Option<Reference>>,
    pub(crate) positions: Vec<u32>,
}

/// What a name or a call stands for.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    /// A declared variable or the variable of a comprehension, by its full name.
    Variable(Name),
    /// A type as a value.
    Type(Type),
    /// A function and those of its overloads that fit; a function found by a qualified name has no target.
    Function {
        function: Arc<Function>,
        overloads: Vec<usize>,
        qualified: bool,
    },
}
