//! The controllers of the program.

pub(crate) mod ship_patrol;
pub(crate) mod white_list;
