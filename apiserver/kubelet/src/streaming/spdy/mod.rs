//! SPDY/3.1, as much of it as clients of Kubernetes use: streams that a client opens, with data both ways.
//!
//! `client-go` speaks it where WebSockets fail, and older `kubectl` speaks nothing else. Neither keeps windows, so that the
//! windows of the protocol are not kept here, either: a client that is not read waits, as the connection fills.

mod connection;
mod dictionary;
mod frame;
mod headers;
#[cfg(test)]
mod tests;

pub(super) use connection::connection;
