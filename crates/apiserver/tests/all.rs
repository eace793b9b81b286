//! The API server as its clients see it.

mod cluster;

mod objects;
mod watches;
