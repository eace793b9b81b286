//! The test cluster as a test uses it.

mod cluster;
mod trace;
mod webhooks;
