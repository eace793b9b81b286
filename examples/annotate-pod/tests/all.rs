//! annotate-pod, from the function to the process.

#![cfg(test)]

mod cluster;
mod manifests;
mod process;
mod reviews;

use annotate_pod::Options;
use clap::{Args, Command, FromArgMatches};

/// The options that a command line gives.
fn options(arguments: &[&str]) -> Options {
    let command = Options::augment_args(Command::new("annotate-pod").no_binary_name(true));
    Options::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
}
