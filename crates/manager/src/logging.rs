//! Where the program's log goes, in which shape, and how much it tells: a level that can change while the program runs.

use std::error::Error;
use std::fmt;
use std::io::{self, IsTerminal as _};
use std::str::FromStr;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

use self::line::{OneLine, Shape};

/// The shape of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// One readable line for each event
    Text,
    /// One JSON object for each event
    Json,
}

/// What the log tells: a level (`info`), or one with others for parts of the program (`info,kubewright_server=debug`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Levels {
    text: String,
    targets: Targets,
}

/// A level that is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoLevel(String);

/// The program's log. Clones are handles on the same.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    filter: reload::Handle<Targets, Registry>,
    first: Levels,
}

/// Part of the subscriber, for spans.
pub(crate) type Spans = Box<dyn Layer<Registry> + Send + Sync>;

/// Sends the log to standard error, unless the program has set up its own: then there is nothing to change.
pub(crate) fn start(format: LogFormat, levels: &Levels, spans: Option<Spans>) -> Option<Log> {
    let (log, filter) = layer(format, levels, io::stderr, io::stderr().is_terminal());
    // The spans come first, so that lines of the log can be told which they belong to.
    let layers = spans.into_iter().chain([log]).collect::<Vec<_>>();
    // The one reason to fail: there is a log already, and it is the program's own choice.
    tracing_subscriber::registry()
        .with(layers)
        .try_init()
        .ok()?;
    Some(Log {
        filter,
        first: levels.clone(),
    })
}

fn layer<W>(
    format: LogFormat,
    levels: &Levels,
    writer: W,
    is_coloured: bool,
) -> (Spans, reload::Handle<Targets, Registry>)
where
    W: for<'a> tracing_subscriber::fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(levels.filter());
    let lines = tracing_subscriber::fmt::layer().with_ansi(is_coloured);
    let log = match format {
        LogFormat::Text => {
            let shape = if is_coloured {
                Shape::Coloured
            } else {
                Shape::Plain
            };
            let lines = lines.with_writer(OneLine::of(shape, writer));
            lines.with_filter(filter).boxed()
        }
        LogFormat::Json => {
            let lines = lines.json().with_writer(OneLine::of(Shape::Json, writer));
            lines.with_filter(filter).boxed()
        }
    };
    (log, handle)
}

impl Log {
    /// Goes by these levels from now on, or by those that the program was started with.
    pub(crate) fn set(&self, levels: Option<&Levels>) {
        let levels = levels.unwrap_or(&self.first);
        match self.filter.reload(levels.filter()) {
            Ok(()) => tracing::info!(%levels, "the level of the log has changed"),
            Err(error) => tracing::error!(%error, "cannot change the level of the log"),
        }
    }
}

impl Levels {
    /// A level by itself says what holds for everything else.
    fn filter(&self) -> Targets {
        let kube = |target: &str| target == KUBE || target.starts_with("kube_client::");
        let said = self.targets.iter().find(|(target, _)| *target == KUBE);
        let everything = self.targets.default_level().unwrap_or(LevelFilter::INFO);
        let level = said.map_or(everything, |(_, level)| level);
        if level == LevelFilter::TRACE {
            return self.targets.clone();
        }
        let others = self.targets.iter().filter(|(target, _)| !kube(target));
        Targets::new()
            .with_default(everything)
            .with_targets(others)
            .with_target(KUBE, LevelFilter::OFF)
    }

    /// What a ConfigMap says, with nothing that is not known.
    pub(crate) fn decode(
        text: &str,
    ) -> Result<(Option<Self>, Vec<String>), Box<dyn Error + Send + Sync>> {
        Ok((Some(text.parse()?), Vec::new()))
    }
}

impl FromStr for Levels {
    type Err = NoLevel;

    fn from_str(text: &str) -> Result<Self, NoLevel> {
        let mut targets = Targets::new().with_default(LevelFilter::INFO);
        for directive in text.split(',').map(str::trim) {
            let (target, level) = match directive.split_once('=') {
                Some((target, level)) => (Some(target.trim_end()), level.trim_start()),
                None => (None, directive),
            };
            let is_number = level.bytes().all(|byte| byte.is_ascii_digit());
            let level: Option<LevelFilter> = level.parse().ok().filter(|_| !is_number);
            targets = match (target, level) {
                (None, Some(level)) => targets.with_default(level),
                (Some(target), Some(level)) if is_target(target) => {
                    targets.with_target(target, level)
                }
                _ => return Err(NoLevel(directive.to_owned())),
            };
        }
        Ok(Self {
            text: text.trim().to_owned(),
            targets,
        })
    }
}

fn is_target(target: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
    !target.is_empty() && target.bytes().all(known)
}

impl fmt::Display for Levels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Display for NoLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is no level; say off, error, warn, info, debug or trace, or one for each part of the program: \
             `info,kubewright_server=debug`",
            self.0.escape_debug()
        )
    }
}

impl Error for NoLevel {}

/// kube's client logs whole responses that it cannot decode: objects with all their values. The callers in this toolkit log the
/// errors that they get, so kube's own lines appear only at the level `trace`, which makes no promise about secrets.
const KUBE: &str = "kube_client";

mod line;
#[cfg(test)]
mod tests;
