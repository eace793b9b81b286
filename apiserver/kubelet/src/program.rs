//! What runs in place of a container: a process, or a function.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::container::Container;

/// What runs in place of the containers of an image.
///
/// # Example: a process, with the arguments of containers that have none
///
/// ```
/// use kubewright_kubelet::Program;
///
/// let agnhost = Program::process("/usr/local/bin/agnhost").default_args(["pause"]);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Program(pub(crate) Kind);

/// The two kinds of programs.
#[derive(Clone)]
pub(crate) enum Kind {
    Process(Process),
    Function(Arc<Function>),
}

/// An executable file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) path: PathBuf,
    pub(crate) default_args: Vec<String>,
}

/// A function that runs until the container ends, and returns its exit code.
pub(crate) type Function = dyn Fn(Container) -> BoxFuture<'static, i32> + Send + Sync;

impl Program {
    /// An executable file: each container is a process of it.
    pub fn process(path: impl Into<PathBuf>) -> Self {
        Self(Kind::Process(Process {
            path: path.into(),
            default_args: Vec::new(),
        }))
    }

    /// A function of this process; it returns the container's exit code. A container that is being stopped has
    /// [`Container::stopped`]; the future is dropped when the pod's grace period is over.
    pub fn function<F, R>(run: F) -> Self
    where
        F: Fn(Container) -> R + Send + Sync + 'static,
        R: Future<Output = i32> + Send + 'static,
    {
        Self(Kind::Function(Arc::new(move |container| {
            run(container).boxed()
        })))
    }

    /// The arguments of containers without `args`, as an image has them. Functions have none.
    pub fn default_args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        if let Kind::Process(process) = &mut self.0 {
            process.default_args = args.into_iter().map(Into::into).collect();
        }
        self
    }
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Process(own), Kind::Process(other)) => own == other,
            (Kind::Function(own), Kind::Function(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

impl Eq for Program {}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Process(process) => process.fmt(f),
            Kind::Function(_) => f.write_str("Function"),
        }
    }
}
