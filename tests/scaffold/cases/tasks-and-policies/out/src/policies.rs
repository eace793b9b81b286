//! The policies of the program, which API servers evaluate themselves.

pub mod team_labels;
pub mod tickets;
pub mod white_lists;
