//! The programs of a real control plane: found in an index, downloaded, checked, installed and pinned.

pub(crate) mod download;
pub(crate) mod hash;
pub(crate) mod http;
pub(crate) mod index;
pub(crate) mod pin;
pub(crate) mod platform;
pub(crate) mod provide;
pub(crate) mod sources;
pub(crate) mod store;
pub(crate) mod unpack;
pub(crate) mod version;
