//! Certificates seen from outside, with real TLS handshakes in memory and real files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authority;
mod clients;
mod files;
mod handshake;
mod self_signed;
mod trust_file;
