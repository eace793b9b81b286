//! What the program keeps as it is to be.

pub(crate) mod ticket;
