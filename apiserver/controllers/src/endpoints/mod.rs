//! The controllers of Endpoints and EndpointSlices, and the one that mirrors Endpoints into EndpointSlices.

mod addresses;
mod capacity;
mod hints;
mod mirroring;
mod of_services;
mod placement;
mod pods;
mod ports;
mod slice;
mod slices;
mod subsets;
mod trigger_time;

pub(super) use mirroring::Mirroring;
pub(super) use of_services::Endpoints;
pub(super) use slices::EndpointSlices;
