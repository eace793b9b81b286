//! The chain against webhooks that follow a script, over real TLS on loopback.

mod client;
mod conditions;
mod hook;
mod http2;
mod http_codes;
mod limits;
mod observing;
mod order;
mod outcomes;
mod patches;
mod policies;
mod reinvocation;
mod review;
mod select;
pub(crate) mod setting;
mod timeouts;
mod trust;
