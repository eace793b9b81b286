//! Who reads a result.

use clap::ValueEnum;

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    #[default]
    Text,
    /// For programs; errors are JSON, too
    Json,
}
