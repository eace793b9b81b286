//! Configuration that is followed while the program runs, wherever its text comes from.

use std::error::Error;
use std::pin::Pin;
use std::str::Utf8Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kube::Client;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::sentence::sentence;
use crate::{Live, yaml};

/// Error from loading a configuration file or a key of a ConfigMap.
///
/// It never contains the text of the configuration: errors go to the log.
///
/// ```
/// use std::error::Error as _;
///
/// use kubewright_manager::{App, ConfigurationError, Program, StartError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("limit.yaml");
/// std::fs::write(&path, "many")?;
/// let program = Program::new(|needs| {
///     let limit = needs.file(&path, 1_u32);
///     App::new("limiter")
/// });
/// let StartError::Configuration(error) = program.start().await.unwrap_err() else {
///     panic!("the file was accepted")
/// };
/// assert!(matches!(error, ConfigurationError::Decode { .. }));
/// assert_eq!(error.to_string(), format!("cannot decode {}", path.display()));
/// assert!(error.source().is_some()); // the field, line and column
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// It is there and cannot be read.
    #[error("cannot read {place}")]
    Read {
        /// Where it comes from: a path, or a ConfigMap and its key.
        place: String,
        /// What the system or the API server said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It is larger than what is read.
    #[error("{place} is larger than {} KiB", LARGEST / 1024)]
    TooLarge {
        /// Where it comes from.
        place: String,
    },
    /// It is not text.
    #[error("{place} is not UTF-8 text")]
    NotText {
        /// Where it comes from.
        place: String,
        /// Where it stops to be text.
        source: Utf8Error,
    },
    /// It is not YAML, or not what the program's type wants.
    #[error("cannot decode {place}")]
    Decode {
        /// Where it comes from.
        place: String,
        /// What is wrong, and where.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Something that is loaded before a program serves and followed while it does.
pub(crate) trait Followed: Send {
    /// Reads the current state.
    fn load<'a>(
        &'a mut self,
        client: Option<&'a Client>,
    ) -> BoxFuture<'a, Result<(), ConfigurationError>>;

    /// Follows every later change, until it is dropped.
    fn follow(self: Box<Self>, client: Option<Client>) -> BoxFuture<'static, ()>;

    /// Tells how it goes.
    fn state(&self) -> Arc<State>;
}

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How it goes with one configuration.
#[derive(Debug)]
pub(crate) struct State {
    /// Where it comes from.
    pub(crate) place: String,
    /// Whether what was last found could be used.
    pub(crate) is_good: AtomicBool,
    pub(crate) used: AtomicU64,
    pub(crate) refused: AtomicU64,
}

/// What is found at the place of a configuration.
#[derive(PartialEq)]
pub(crate) enum Seen {
    Missing,
    Content(Vec<u8>),
}

/// What holds where there is nothing that can be used.
pub(crate) enum Otherwise<T> {
    /// The last good value; a program whose first one is bad does not start.
    LastGood,
    /// The last good value where one is bad, at the start too, and this one where there is none.
    Initial(Arc<T>),
}

type Decode<T> = fn(&str) -> Result<(T, Vec<String>), Box<dyn Error + Send + Sync>>;

/// The sending side of a [`Live`] value: takes what is found at its place, and keeps what is good.
pub(crate) struct Source<T> {
    values: watch::Sender<Arc<T>>,
    decode: Decode<T>,
    otherwise: Otherwise<T>,
    /// What was last found, whether it could be used or not: what is bad is warned of once, not at every look.
    seen: Seen,
    is_unreadable: bool,
    state: Arc<State>,
}

impl<T: DeserializeOwned> Source<T> {
    /// A configuration in YAML.
    pub(crate) fn yaml(place: String, default: T) -> (Self, Live<T>) {
        let decode = |text: &str| Ok(yaml::decode(text).map(|read| (read.value, read.unknown))?);
        Self::new(place, Arc::new(default), decode, Otherwise::LastGood)
    }
}

impl<T> Source<T> {
    pub(crate) fn new(
        place: String,
        initial: Arc<T>,
        decode: Decode<T>,
        otherwise: Otherwise<T>,
    ) -> (Self, Live<T>) {
        let (values, live) = Live::channel(initial);
        let source = Self {
            values,
            decode,
            otherwise,
            seen: Seen::Missing,
            is_unreadable: false,
            state: Arc::new(State {
                place,
                is_good: AtomicBool::new(true),
                used: AtomicU64::new(0),
                refused: AtomicU64::new(0),
            }),
        };
        (source, live)
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    pub(crate) fn place(&self) -> &str {
        &self.state.place
    }

    /// Takes what there is before the program begins.
    pub(crate) fn begin(&mut self, seen: Seen) -> Result<(), ConfigurationError> {
        if matches!(self.otherwise, Otherwise::Initial(_)) {
            if seen != self.seen {
                self.take(seen);
            }
            return Ok(());
        }
        match &seen {
            Seen::Missing => {
                tracing::info!(
                    place = self.place(),
                    "no configuration yet: the default holds"
                );
            }
            Seen::Content(bytes) => {
                let value = self.read(bytes)?;
                self.use_value(Arc::new(value));
            }
        }
        self.seen = seen;
        Ok(())
    }

    /// Takes what there is now.
    pub(crate) fn take(&mut self, seen: Seen) {
        self.is_unreadable = false;
        if seen == self.seen {
            return;
        }
        match (&seen, &self.otherwise) {
            (Seen::Missing, Otherwise::LastGood) => {
                self.state.is_good.store(false, Ordering::Relaxed);
                tracing::warn!(
                    place = self.place(),
                    "the configuration is gone: its last good content holds"
                );
            }
            (Seen::Missing, Otherwise::Initial(initial)) => {
                let initial = Arc::clone(initial);
                self.use_value(initial);
            }
            (Seen::Content(bytes), _) => match self.read(bytes) {
                Ok(value) => {
                    self.use_value(Arc::new(value));
                    tracing::info!(place = self.place(), "the configuration was reloaded");
                }
                Err(error) => self.refuse(&error),
            },
        }
        self.seen = seen;
    }

    /// Says once that nothing can be known of it now.
    pub(crate) fn cannot_read(&mut self, error: &ConfigurationError) {
        if !std::mem::replace(&mut self.is_unreadable, true) {
            self.refuse(error);
        }
    }

    fn use_value(&self, value: Arc<T>) {
        self.values.send_replace(value);
        self.state.is_good.store(true, Ordering::Relaxed);
        self.state.used.fetch_add(1, Ordering::Relaxed);
    }

    fn refuse(&self, error: &ConfigurationError) {
        self.state.is_good.store(false, Ordering::Relaxed);
        self.state.refused.fetch_add(1, Ordering::Relaxed);
        let cause = error.source().map(sentence);
        tracing::warn!(cause, "{error}: the last good configuration holds");
    }

    fn read(&self, bytes: &[u8]) -> Result<T, ConfigurationError> {
        let place = || self.state.place.clone();
        if bytes.len() as u64 > LARGEST {
            return Err(ConfigurationError::TooLarge { place: place() });
        }
        let text = std::str::from_utf8(bytes).map_err(|source| ConfigurationError::NotText {
            place: place(),
            source,
        })?;
        let (value, unknown) =
            (self.decode)(text).map_err(|source| ConfigurationError::Decode {
                place: place(),
                source,
            })?;
        for field in unknown {
            tracing::warn!(
                place = self.place(),
                field,
                "the configuration has a field that is not known: it has no effect"
            );
        }
        Ok(value)
    }
}

/// The API server refuses larger ConfigMaps and Secrets.
pub(crate) const LARGEST: u64 = 1024 * 1024;
