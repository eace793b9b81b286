//! What a PATCH body does to an object: JSON patch, JSON merge patch, strategic merge patch.

pub mod json;
pub mod merge;
pub mod strategic;
