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
    /// The folder of the project, which is made if it is not there
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// The domain of its groups, webhooks and labels, such as example.com
    #[arg(long)]
    domain: Domain,

    /// The name of the package, of the program and of what it is deployed as; that of the folder unless it is said
    #[arg(long)]
    name: Option<Name>,

    /// The license of the package, as an SPDX expression such as Apache-2.0
    #[arg(long, value_name = "SPDX")]
    license: Option<String>,

    /// Takes the crate `kubewright` from this folder instead of a registry
    #[arg(long, value_name = "FOLDER")]
    kubewright_path: Option<PathBuf>,
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let Arguments {
        folder,
        domain,
        name,
        license,
        kubewright_path,
    } = arguments;
    let name = match name {
        Some(name) => name,
        None => name_of(&folder)?,
    };
    let kubewright = kubewright_path.map(|path| path_of(&path)).transpose()?;
    let new = NewProject {
        domain,
        name,
        license,
        kubewright,
    };
    let next =
        "next: `kubewright create webhook --kind Pod --validating`, or `kubewright create api`";
    change_folder(ui, &folder, next, |tree| init(tree, &new))
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
