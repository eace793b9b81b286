//! The controllers of the program.

pub(crate) mod white_list;
