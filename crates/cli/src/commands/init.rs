//! `kubewright init`: a new project in a folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::project::change_folder;
use crate::failure::{Failure, Outcome};
use crate::scaffold::{Domain, Name, NewProject, init};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory of the project; created if it does not exist
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// The domain of API groups, webhooks and labels, such as example.com
    #[arg(long)]
    domain: Domain,

    /// The name of the package, the binary and the Deployment [default: the name of the directory]
    #[arg(long)]
    name: Option<Name>,

    /// Set the license of the package, as an SPDX expression such as Apache-2.0
    #[arg(long, value_name = "SPDX", value_parser = license)]
    license: Option<String>,

    /// Use the crate `kubewright` in this directory [default: the sources that this command was built from, or the registry]
    #[arg(long, value_name = "FOLDER")]
    kubewright_path: Option<PathBuf>,

    /// Use the crate `kubewright` of the registry
    #[arg(long, conflicts_with = "kubewright_path")]
    from_registry: bool,
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let Arguments {
        folder,
        domain,
        name,
        license,
        kubewright_path,
        from_registry,
    } = arguments;
    let name = match name {
        Some(name) => name,
        None => name_of(&folder)?,
    };
    let kubewright = match kubewright_path {
        Some(path) => Some(path_of(&path)?),
        None if from_registry => None,
        None => sources(),
    };
    let only_here = kubewright.as_ref().map(|path| {
        format!(
            "the crate kubewright is taken from {path}: the project can only be built where that is"
        )
    });
    let new = NewProject {
        domain,
        name,
        license,
        kubewright,
    };
    let next =
        "next: `kubewright create webhook --kind Pod --validating`, or `kubewright create api`";
    change_folder(ui, &folder, next, |tree| init(tree, &new))?;
    if let Some(only_here) = only_here {
        ui.note(only_here);
    }
    Ok(())
}

/// A license as crates.io accepts it.
pub(super) fn license(text: &str) -> Result<String, String> {
    let expression = spdx::Expression::parse(text);
    expression.map(|_| text.to_owned()).map_err(|error| {
        format!(
            "{}: write an SPDX expression, such as Apache-2.0 or MIT OR Apache-2.0",
            error.reason
        )
    })
}

fn name_of(folder: &Path) -> Outcome<Name> {
    let whole =
        std::path::absolute(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    name.parse().map_err(|why| {
        Failure::new(format!(
            "a project cannot be called `{name}` as its folder is: {why}"
        ))
        .hint("say a name with --name")
    })
}

/// A path that holds wherever the project is.
fn path_of(kubewright: &Path) -> Outcome<String> {
    let whole = kubewright.canonicalize();
    let whole = whole.with_context(|| format!("cannot find {}", kubewright.display()))?;
    Ok(whole.to_string_lossy().into_owned())
}

/// Path of the crate `kubewright` beside this one, if this command was built from a full checkout that still exists. A registry may
/// have another version of the crate, or none.
fn sources() -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("kubewright");
    let is_there = beside.join("Cargo.toml").is_file();
    is_there.then(|| beside.to_string_lossy().into_owned())
}
