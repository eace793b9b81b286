//! The test cluster as a test uses it.

#![cfg(test)]

#[cfg(feature = "real")]
mod applied;
mod authority;
mod choices;
mod clients;
#[cfg(feature = "real")]
mod clients_real;
mod cluster;
mod clusters;
#[cfg(feature = "real")]
mod control_plane;
#[cfg(unix)]
mod control_plane_errors;
mod conversions;
mod expressions;
mod faults;
mod indexes;
mod inspection;
#[cfg(feature = "real")]
mod kinds_real;
mod metrics_page;
mod not_implemented_page;
mod observed;
mod own_writes;
mod permissions;
mod pods;
mod policies_agree;
mod programs;
mod secured_metrics;
#[cfg(feature = "real")]
mod servers;
mod shadow;
mod sharding;
mod tasks;
mod trace;
mod trust;
mod virtual_time;
mod webhooks;
mod widgets;
