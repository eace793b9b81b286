//! The nodes of a tree while it is read: their ids with their positions, and the problems that were found.

use crate::ast::{Expr, Kind, Literal};
use crate::introduced::Macros;
use crate::source::Problem;

pub(super) struct Nodes {
    pub(super) positions: Vec<u32>,
    pub(super) problems: Vec<Problem>,
    pub(super) macros: Macros,
}

impl Nodes {
    pub(super) fn new(problems: Vec<Problem>, macros: Macros) -> Self {
        Self {
            positions: Vec::new(),
            problems,
            macros,
        }
    }

    /// Makes a node at a code point offset.
    pub(super) fn node(&mut self, at: u32, kind: Kind) -> Expr {
        Expr {
            id: self.id(at),
            kind,
        }
    }

    pub(super) fn id(&mut self, at: u32) -> u32 {
        let id = u32::try_from(self.positions.len()).unwrap_or(u32::MAX);
        self.positions.push(at);
        id
    }

    pub(super) fn count(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn position(&self, id: u32) -> u32 {
        self.positions[id as usize]
    }

    /// Records a problem, and returns a placeholder for the expression that has it.
    pub(super) fn broken(&mut self, at: u32, message: impl Into<String>) -> Expr {
        self.problems.push(Problem::at(at, message));
        self.node(at, Kind::Literal(Literal::Null))
    }
}
