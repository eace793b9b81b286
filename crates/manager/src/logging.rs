//! Where the program's log goes, and in which shape.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::SubscriberInitExt;

/// The shape of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// One readable line for each event
    Text,
    /// One JSON object for each event
    Json,
}

/// Sends the log to standard error, unless the program has set up its own.
pub(crate) fn start(format: LogFormat, level: &str) {
    let filter = EnvFilter::builder().parse_lossy(level);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => log.finish().try_init(),
        LogFormat::Json => log.json().finish().try_init(),
    };
    // The one reason to fail: there is a log already, and it is the program's own choice.
    drop(started);
}

/// Accepts a level (`info`) or a filter (`info,kubewright_server=debug`).
pub(crate) fn check(text: &str) -> Result<String, ParseError> {
    EnvFilter::builder().parse(text).map(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_and_a_filter_are_read_and_nonsense_is_not() {
        assert!(check("debug").is_ok());
        assert!(check("info,kubewright_server=debug").is_ok());
        assert!(check("loud=very").is_err());
    }
}
