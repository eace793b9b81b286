//! topolvm-hook beside an API server.

#![cfg(test)]

mod demand;
mod manifests;

use std::ffi::OsStr;

use clap::{Args, Command, FromArgMatches};
use topolvm_hook::Options;

/// Parses the options from these arguments.
fn options(arguments: &[&str]) -> Options {
    let command = Options::augment_args(Command::new("topolvm-hook").no_binary_name(true));
    let arguments = arguments.iter().map(OsStr::new);
    Options::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
}
