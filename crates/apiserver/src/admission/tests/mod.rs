//! The chain against webhooks that follow a script, over real TLS on loopback.

mod hook;
mod http_codes;
mod order;
mod outcomes;
pub(in crate::admission) mod setting;
