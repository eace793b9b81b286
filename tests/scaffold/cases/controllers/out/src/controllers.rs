//! The controllers of the program.

pub(crate) mod cleaner;
pub(crate) mod cluster_config_maps;
pub(crate) mod deployment_patrols;
pub(crate) mod fleet;
pub(crate) mod servers;
pub(crate) mod white_list;
pub(crate) mod white_list_patrols;
