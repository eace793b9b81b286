//! The tree that the parser makes of an expression, macros expanded.

use std::borrow::Cow;

use super::types::Type;

/// A parsed expression with the place of every node.
#[derive(Clone, Debug)]
pub(super) struct Ast {
    pub(super) root: Expr,
    /// Code point offsets by node id.
    pub(super) positions: Vec<u32>,
}

/// The name of a function, a variable or a field.
pub(super) type Name = Cow<'static, str>;

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) id: u32,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Literal(Literal),
    Ident(Name),
    Select {
        operand: Box<Expr>,
        field: String,
        test_only: bool,
    },
    Call {
        function: Name,
        target: Option<Box<Expr>>,
        arguments: Vec<Expr>,
    },
    List(Vec<Element>),
    Map(Vec<Entry>),
    Object {
        name: String,
        fields: Vec<Field>,
    },
    Comprehension(Box<Comprehension>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

impl Literal {
    pub(super) fn type_of(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) value: Expr,
    pub(super) optional: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Expr,
    pub(super) value: Expr,
    pub(super) optional: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) value: Expr,
    pub(super) optional: bool,
}

/// A loop over a list or a map. With an empty range it only names a value: `accumulator = init`.
#[derive(Clone, Debug)]
pub(super) struct Comprehension {
    pub(super) range: Expr,
    pub(super) variable: Name,
    /// The second variable of the two-variable forms: index and element, or key and value.
    pub(super) second: Option<Name>,
    pub(super) accumulator: Name,
    pub(super) init: Expr,
    pub(super) condition: Expr,
    pub(super) step: Expr,
    pub(super) result: Expr,
}

impl Expr {
    /// `a.b.c` for a chain of plain selections, which may be the name of a function or a variable.
    pub(super) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.trim_start_matches('.').to_owned()),
            Kind::Select {
                operand,
                field,
                test_only: false,
            } => operand
                .qualified_name()
                .map(|name| format!("{name}.{field}")),
            _ => None,
        }
    }

    /// The variable at the start of a chain of plain selections.
    pub(super) fn first_name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Ident(name) => Some(name),
            Kind::Select {
                operand,
                test_only: false,
                ..
            } => operand.first_name(),
            _ => None,
        }
    }
}

/// The names under which operators are called.
pub(super) mod operators {
    pub(in super::super) const CONDITIONAL: &str = "_?_:_";
    pub(in super::super) const AND: &str = "_&&_";
    pub(in super::super) const OR: &str = "_||_";
    pub(in super::super) const NOT: &str = "!_";
    pub(in super::super) const EQUALS: &str = "_==_";
    pub(in super::super) const NOT_EQUALS: &str = "_!=_";
    pub(in super::super) const LESS: &str = "_<_";
    pub(in super::super) const LESS_EQUALS: &str = "_<=_";
    pub(in super::super) const GREATER: &str = "_>_";
    pub(in super::super) const GREATER_EQUALS: &str = "_>=_";
    pub(in super::super) const ADD: &str = "_+_";
    pub(in super::super) const SUBTRACT: &str = "_-_";
    pub(in super::super) const MULTIPLY: &str = "_*_";
    pub(in super::super) const DIVIDE: &str = "_/_";
    pub(in super::super) const MODULO: &str = "_%_";
    pub(in super::super) const NEGATE: &str = "-_";
    pub(in super::super) const INDEX: &str = "_[_]";
    pub(in super::super) const OPTIONAL_INDEX: &str = "_[?_]";
    pub(in super::super) const OPTIONAL_SELECT: &str = "_?._";
    pub(in super::super) const IN: &str = "@in";
    pub(in super::super) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
    pub(in super::super) const MAP_INSERT: &str = "cel.@mapInsert";
}
