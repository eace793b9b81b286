//! The tasks of the program.

pub mod cleanup;
pub mod nightly;
pub mod warm_up;
