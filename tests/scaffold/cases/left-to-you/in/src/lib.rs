//! Which program it is depends on the cluster.

use kubewright::prelude::*;

/// The program of the test clusters.
pub fn test(_: &mut Needs) -> App {
    App::new("guard-test")
}

/// The program of all others.
pub fn app(_: &mut Needs) -> App {
    App::new("guard")
}
