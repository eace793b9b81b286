//! `kubewright edit`: what a project is like, changed later.

use super::project::Project;
use super::{Refused, Tree, dependencies};

/// What is to change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// An SPDX expression; empty for none.
    pub(crate) license: Option<String>,
}

/// Changes a project.
pub(crate) fn edit(tree: &mut Tree, settings: &Settings) -> Result<(), Refused> {
    Project::read(tree)?;
    let Some(license) = &settings.license else {
        return Err(Refused::new("it is not said what is to change").hint("pass --license"));
    };
    let license = Some(license.as_str()).filter(|license| !license.is_empty());
    tree.edit("Cargo.toml", "set `license`", |text| {
        dependencies::license(text, license)
    });
    Ok(())
}
