//! The admission chain: what may change or refuse a request between decoding and storing.

mod attributes;

pub use attributes::{Attributes, Operation, User};
