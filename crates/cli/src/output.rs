//! Who reads a result.

use clap::ValueEnum;

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Human-readable text
    #[default]
    Text,
    /// JSON, including errors
    Json,
}
