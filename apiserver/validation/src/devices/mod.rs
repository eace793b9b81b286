//! Dynamic resource allocation: rules that claims, classes and slices share.

mod binding;
mod capacity;
pub mod names;
pub mod parts;
pub mod taints;

pub use binding::binding;
pub use capacity::capacity;
