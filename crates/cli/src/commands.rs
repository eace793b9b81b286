//! One module a command.

pub(crate) mod apiserver;
pub(crate) mod assets;
pub(crate) mod certs;
pub(crate) mod completions;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod install;
pub(crate) mod replay;
