//! Certificates seen from outside, with real TLS handshakes in memory and real files.

mod authority;
mod files;
mod handshake;
mod self_signed;
