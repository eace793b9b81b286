//! The controllers of the program.

pub(crate) mod ticket;
