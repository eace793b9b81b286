//! Clients that prove who they are with a certificate.

mod ask;
mod caller;
mod check;
mod live;

pub(crate) use ask::Ask;
pub(crate) use caller::Caller;
pub use check::ClientCheck;
pub(crate) use live::LiveClients;
