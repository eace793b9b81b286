//! `kubewright init`: the files of a new project.

use minijinja::{Value, context};

use super::project::Project;
use super::sums::RECORD;
use super::templates::{self, Template};
use super::{Domain, Name, Refused, Tree};

/// What a new project is to be like.
#[derive(Clone, Debug)]
pub(crate) struct NewProject {
    pub(crate) domain: Domain,
    pub(crate) name: Name,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    /// Where the `kubewright` crate is, if it is not to come from a registry.
    pub(crate) kubewright: Option<String>,
}

/// Makes a project.
pub(crate) fn init(tree: &mut Tree, new: &NewProject) -> Result<(), Refused> {
    let (domain, name) = (new.domain.as_ref(), new.name.as_ref());
    if tree.text(RECORD).is_some() {
        let known = Project::read(tree)?;
        if (known.domain(), known.name()) == (domain, name) {
            return Ok(());
        }
        return Err(Refused::new(format!(
            "the project {} of {} is here already",
            known.name(),
            known.domain()
        )));
    }
    let mut project = Project::new(domain, name);
    let values = values(&project, new.license.as_deref(), new.kubewright.as_deref());
    for (path, template) in FILES {
        tree.create(path, &template.fill(values.clone()))?;
    }
    project.save(tree);
    Ok(())
}

fn values(project: &Project, license: Option<&str>, kubewright: Option<&str>) -> Value {
    context! {
        domain => project.domain(),
        name => project.name(),
        library => project.library(),
        license,
        kubewright,
        checkout => kubewright.map(checkout),
        version => env!("CARGO_PKG_VERSION"),
        rust => env!("CARGO_PKG_RUST_VERSION"),
    }
}

/// The manifest that a new project would have, with Kubewright from a registry.
pub(super) fn manifest(project: &Project) -> String {
    templates::CARGO.fill(values(project, None, None))
}

/// The files that no later command changes, as a new project would have them.
pub(super) fn kept(project: &Project, kubewright: Option<&str>) -> Vec<(String, String)> {
    let values = values(project, None, kubewright);
    let kept = FILES.into_iter().filter(|(path, _)| KEPT.contains(path));
    kept.map(|(path, template)| (path.to_owned(), template.fill(values.clone())))
        .collect()
}

/// The folder of the workspace that the crate `kubewright` is in, of which it takes its versions and its other crates.
fn checkout(kubewright: &str) -> &str {
    let mut above = kubewright.rmatch_indices(['/', '\\']);
    above.nth(1).map_or(kubewright, |(at, _)| &kubewright[..at])
}

const FILES: [(&str, Template); 9] = [
    (".github/workflows/ci.yml", templates::CI),
    (".gitignore", templates::GITIGNORE),
    ("Cargo.toml", templates::CARGO),
    ("Containerfile", templates::CONTAINERFILE),
    ("README.md", templates::README),
    ("demo.yaml", templates::DEMO),
    ("src/lib.rs", templates::LIBRARY),
    ("src/main.rs", templates::MAIN),
    ("tests/all/main.rs", templates::TESTS),
];

const KEPT: [&str; 5] = [
    ".github/workflows/ci.yml",
    ".gitignore",
    "Containerfile",
    "README.md",
    "src/main.rs",
];
