//! Makes a tree of an expression, with the messages of the reference implementation.
//!
//! The grammar is the one of the language definition. A syntax error is reported once, after one token was left out or
//! filled in where that lets the rest be read. Where an expression is missing, reading goes on at the operator or the
//! bracket behind it; any other error ends it. Errors that only follow from the last one are not invented.

mod aggregates;
mod grammar;
mod lexer;
mod literals;
mod macros;
mod nodes;

pub(crate) use grammar::RESERVED;
pub use grammar::is_identifier;

use crate::ast::Ast;
use crate::introduced::Macros;
use crate::source::{Issues, Problem};

/// The largest expression, in code points.
const MAX_CODE_POINTS: usize = 100_000;

/// Parses an expression and expands its macros.
pub(crate) fn parse(source: &str, macros: Macros) -> Result<Ast, Issues> {
    let length = source.chars().count();
    let mut problems = Vec::new();
    if length > MAX_CODE_POINTS {
        problems.push(Problem::anywhere(format!(
            "expression code point size exceeds limit: size: {length}, limit {MAX_CODE_POINTS}"
        )));
        return Err(Issues::of("", problems));
    }
    let tokens = lexer::tokens(source, &mut problems);
    let mut parser = grammar::Parser::new(tokens, problems, macros);
    let root = parser.start();
    let (positions, problems) = parser.into_parts();
    match root {
        Some(root) if problems.is_empty() => Ok(Ast { root, positions }),
        _ => Err(Issues::of(source, problems)),
    }
}
