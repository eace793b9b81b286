//! The streams of `exec`, `attach` and `portforward`, in the protocols that clients of Kubernetes speak.
//!
//! A client asks for a connection to be upgraded, to a WebSocket or to SPDY; [`Negotiated`] chooses the protocol, and
//! [`RemoteCommand`] and [`ForwardedPorts`] serve the connection. All that a client sends waits in buffers of a fixed size.

mod command;
mod connection;
mod negotiate;
mod outcome;
mod ports;
mod session;
mod spdy;
mod tunnel;
mod websocket;

pub use command::{Interruption, RemoteCommand, Run, Wanted};
pub use negotiate::{ACCEPTED_PROTOCOLS, Negotiated, Refusal, STREAM_PROTOCOL, is_upgrade_request};
pub use outcome::Outcome;
pub use ports::{Connect, ForwardedPorts};
pub use session::{Output, PortForward, Session, Stdin, Terminal, TerminalSize};
