//! Reviews as they arrive.
