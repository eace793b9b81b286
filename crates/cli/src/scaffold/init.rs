//! `kubewright init`: the files of a new project.

use minijinja::context;

use super::project::{Project, RECORD};
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
    let project = Project::new(domain, name);
    let values = context! {
        domain,
        name,
        library => project.library(),
        license => new.license.as_deref(),
        kubewright => new.kubewright.as_deref(),
        checkout => new.kubewright.as_deref().map(checkout),
        version => env!("CARGO_PKG_VERSION"),
        rust => env!("CARGO_PKG_RUST_VERSION"),
    };
    for (path, template) in FILES {
        tree.create(path, &template.fill(values.clone()))?;
    }
    project.save(tree);
    Ok(())
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
