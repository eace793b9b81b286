//! Paths of the files of a project.

use super::names::module;
use super::project::Api;
use super::target::Target;

pub(super) const APP: &str = "App::new";
pub(super) const LIBRARY: &str = "src/lib.rs";
pub(super) const TABLE: &str = "src/api.rs";
pub(super) const CONTROLLERS: &str = "src/controllers.rs";
pub(super) const TASKS: &str = "src/tasks.rs";
pub(super) const POLICIES: &str = "src/policies.rs";
pub(super) const TESTS: &str = "tests/all/main.rs";
pub(super) const DEMO: &str = "demo.yaml";

/// The file of a kind's type.
pub(super) fn type_file(target: &Target) -> String {
    let Api {
        group,
        version,
        kind,
        ..
    } = &target.api;
    format!("src/api/{}/{version}/{}.rs", module(group), module(kind))
}
