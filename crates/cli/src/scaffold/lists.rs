//! Lists of modules: that of a part of the program, and that of the tests.

use super::places::TESTS;
use super::{Refused, Tree, dependencies, rust};

/// Adds a module to a list of modules, which is made if there is none.
pub(super) fn list(
    tree: &mut Tree,
    path: &str,
    visibility: &str,
    module: &str,
    empty: &str,
) -> Result<(), Refused> {
    if tree.text(path).is_none() {
        tree.create(path, empty)?;
    }
    tree.edit(path, format!("add `{visibility}mod {module};`"), |text| {
        rust::add_module(text, visibility, module)
    });
    Ok(())
}

/// Adds a module to the tests, and what they need to the dependencies.
pub(super) fn test(tree: &mut Tree, module: &str) {
    tree.edit(TESTS, format!("add `mod {module};`"), |text| {
        rust::add_module(text, "", module)
    });
    tree.edit(
        "Cargo.toml",
        "add `kubewright` with the feature `testing` to [dev-dependencies]",
        dependencies::for_tests,
    );
}
