//! What the program keeps as it is to be.

pub(crate) mod config_map;
pub(crate) mod deployment;
pub(crate) mod harbor;
pub(crate) mod white_list;
