//! The command as a user runs it: arguments in; messages, files and an exit code out.

mod apiserver;
mod assets;
mod audit_replay;
mod certs;
mod check;
mod cluster;
mod command;
mod data;
mod deploy;
mod dev;
mod doctor;
mod following;
mod given;
mod inspect;
mod install;
mod inventory;
mod mirror;
mod ownership;
mod place;
mod replay;
#[cfg(target_os = "linux")]
mod restoring;
mod running;
mod shim;
mod snapshot;
mod test_policy;
mod trusting;
mod version;
