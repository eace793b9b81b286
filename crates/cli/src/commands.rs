//! One module a command.

pub(crate) mod apiserver;
pub(crate) mod assets;
pub(crate) mod certs;
pub(crate) mod completions;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod manifests;
mod project;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod test;
