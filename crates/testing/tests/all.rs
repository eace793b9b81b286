//! The test cluster as a test uses it.

#![cfg(test)]

#[cfg(feature = "real")]
mod applied;
mod authority;
mod clients;
#[cfg(feature = "real")]
mod clients_real;
mod cluster;
#[cfg(feature = "real")]
mod control_plane;
#[cfg(unix)]
mod control_plane_errors;
mod conversions;
mod expressions;
mod faults;
mod metrics_page;
mod not_implemented_page;
mod observed;
mod permissions;
mod pods;
mod policies_agree;
mod programs;
#[cfg(feature = "real")]
mod servers;
mod shadow;
mod trace;
mod trust;
mod virtual_time;
mod webhooks;
mod widgets;
