//! What the program keeps as it is to be.

pub(crate) mod patrol;
pub(crate) mod ship_patrol;
