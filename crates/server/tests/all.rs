//! The server seen from outside, by real TLS clients on real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod certificates;
mod client;
mod clients;
mod crowd;
mod diagnostics;
mod drain;
mod exhaustion;
mod hostile;
mod kill;
mod layer;
mod pace;
mod places;
mod process;
mod raw;
mod restarts;
mod running;
mod slow;
mod tls;
