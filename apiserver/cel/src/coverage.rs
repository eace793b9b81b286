//! Which values the conditions of an expression have had.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::library::Evaluated;
use crate::value::Value;

/// One condition of an expression, and the values that it has had since the expression was compiled.
///
/// Conditions are the expression as a whole, if it is a boolean; both sides of `&&` and `||`; and what `?:` decides by. The parts
/// of macros are among them: of `l.all(x, p && q)`, those are `p` and `q`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Condition {
    /// Its place in the expression, in characters from the start: where its operator or its first name is.
    pub position: usize,
    /// Whether it has been true.
    pub was_true: bool,
    /// Whether it has been false.
    pub was_false: bool,
}

/// What sees the values of one condition. Threads may evaluate it at once.
#[derive(Debug)]
pub(crate) struct Watch {
    position: usize,
    was_true: AtomicBool,
    was_false: AtomicBool,
}

impl Watch {
    pub(crate) fn at(position: u32) -> Self {
        Self {
            position: position as usize,
            was_true: AtomicBool::new(false),
            was_false: AtomicBool::new(false),
        }
    }

    pub(crate) fn saw(&self, result: &Evaluated<'_>) {
        match result {
            Ok(Value::Bool(true)) => self.was_true.store(true, Ordering::Relaxed),
            Ok(Value::Bool(false)) => self.was_false.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    pub(crate) fn condition(&self) -> Condition {
        Condition {
            position: self.position,
            was_true: self.was_true.load(Ordering::Relaxed),
            was_false: self.was_false.load(Ordering::Relaxed),
        }
    }
}
