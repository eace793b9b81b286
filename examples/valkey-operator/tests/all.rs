//! valkey-operator beside an API server.

#![cfg(test)]

mod backups;
mod faults;
mod instances;
mod life;
mod manifests;
mod passwords;
mod setting;
mod soak;
mod upgrades;
mod versions;
