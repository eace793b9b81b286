//! What a program asks for before it starts.

use std::fmt;
use std::path::PathBuf;

use serde::de::DeserializeOwned;

use crate::Live;
use crate::file::{File, Followed};

/// Hands out the handles that a program works with.
///
/// Asking is declaring: what was asked for is loaded before the program serves its first call and
/// followed until it ends. While only manifests are written, nothing is loaded.
#[derive(Default)]
pub struct Needs {
    pub(crate) files: Vec<Box<dyn Followed>>,
}

impl Needs {
    /// Asks for a configuration file that is followed while the program runs.
    ///
    /// The file is read as Kubernetes reads YAML, so the types of `k8s-openapi` decode with all
    /// their camelCase fields. It may be a key of a mounted ConfigMap: a change takes effect
    /// without a restart, as soon as the kubelet has swapped the volume.
    ///
    /// * No file at the start: `default` holds until it comes.
    /// * A file that cannot be used at the start: the program does not start, so that a rollout
    ///   stops before it does harm.
    /// * A file that cannot be used later, or that vanishes: the last good value holds, and a
    ///   warning says what is wrong. Rules of your own are checked the same way when they are
    ///   part of decoding (`#[serde(try_from = "…")]`).
    /// * Fields that the type does not know have no effect, and a warning names them.
    pub fn file<T>(&mut self, path: impl Into<PathBuf>, default: T) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let (file, live) = File::new(path.into(), default);
        self.files.push(Box::new(file));
        live
    }
}

impl fmt::Debug for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Needs")
            .field("files", &self.files.len())
            .finish()
    }
}
