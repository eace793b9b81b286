//! The controllers of the program.

pub(crate) mod config_map;
pub(crate) mod deployment;
pub(crate) mod harbor;
pub(crate) mod white_list;
