//! What `kubewright dev` is made of.

pub(crate) mod account;
pub(crate) mod actions;
mod borrowed;
pub(crate) mod cargo;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod given;
pub(crate) mod others;
pub(crate) mod place;
pub(crate) mod play;
pub(crate) mod program;
pub(crate) mod record;
pub(crate) mod recorded;
pub(crate) mod reviews;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod sources;
pub(crate) mod stage;
pub(crate) mod wait;
