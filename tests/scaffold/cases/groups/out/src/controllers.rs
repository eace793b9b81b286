//! The controllers of the program.

pub(crate) mod patrol;
pub(crate) mod ship_patrol;
