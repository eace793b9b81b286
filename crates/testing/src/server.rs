//! Which API server the tests run on.

use std::env;
use std::fmt;

use crate::fail;

/// An API server that tests can run on. `KUBEWRIGHT_TEST_CLUSTER` chooses it without a change of the tests; a test that needs a
/// certain one names it with [`Builder::on`](crate::Builder::on).
///
/// ```
/// use kubewright_testing::Server;
///
/// // The variable has the values that the servers print as.
/// assert_eq!(Server::Embedded.to_string(), "embedded");
/// assert_eq!(Server::Real.to_string(), "real");
/// assert_eq!(Server::Existing.to_string(), "existing");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Server {
    /// `embedded`, the default: each test cluster has an API server of its own, in the test's process.
    Embedded,
    /// `real`: all share a kube-apiserver and an etcd, started for the tests and ended with them.
    Real,
    /// `existing`: the cluster of the current kubeconfig context, whatever it is.
    ///
    /// It must reach the webhooks under test: they listen on the address in `KUBEWRIGHT_TEST_ADDRESS`, or on 127.0.0.1.
    Existing,
}

impl Server {
    /// The one that the environment names.
    pub(crate) fn chosen() -> Self {
        match env::var(VARIABLE) {
            Ok(name) => Self::named(&name).unwrap_or_else(|| {
                fail(format_args!(
                    "{VARIABLE} is {name:?}: it must be `embedded`, `real` or `existing`"
                ))
            }),
            Err(env::VarError::NotPresent) => Self::Embedded,
            Err(error) => fail(format_args!("{VARIABLE} cannot be read: {error}")),
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Embedded, Self::Real, Self::Existing]
            .into_iter()
            .find(|server| server.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Real => "real",
            Self::Existing => "existing",
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const VARIABLE: &str = "KUBEWRIGHT_TEST_CLUSTER";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_the_names_that_the_variable_takes() {
        assert_eq!(Server::named("embedded"), Some(Server::Embedded));
        assert_eq!(Server::named("real"), Some(Server::Real));
        assert_eq!(Server::named("existing"), Some(Server::Existing));
        for other in ["", "Real", "kind", "real "] {
            assert_eq!(Server::named(other), None, "{other:?}");
        }
    }
}
