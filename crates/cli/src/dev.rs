//! What `kubewright dev` is made of.

pub(crate) mod account;
pub(crate) mod actions;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod place;
pub(crate) mod play;
pub(crate) mod program;
pub(crate) mod reviews;
pub(crate) mod start;
pub(crate) mod wait;
