//! `kubewright update`: the dependencies and the files of a project, moved to another version of the library.

use std::collections::BTreeSet;

use super::changelog::{self, CHANGELOG, Changes};
use super::controller::Controller;
use super::project::Project;
use super::requirements::{self, Elsewhere, Release, is_older, moved};
use super::tree::Existing;
use super::webhook::{self, PARTS};
use super::{Refused, Tree, init, policy, sums, task};

/// A version that a project has been moved to.
#[derive(Debug)]
pub(crate) struct Updated {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Where Kubewright comes from, if no requirement in `Cargo.toml` chooses its version.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// Files that a user has changed, each with the text that a new project has in its place.
    pub(crate) differing: Vec<(String, String)>,
    pub(crate) changes: Changes,
}

/// Moves a project to a version: that of this command, unless an earlier one is named.
pub(crate) fn update(tree: &mut Tree, to: Option<&str>) -> Result<Updated, Refused> {
    let mut project = Project::read(tree)?;
    let to = to.unwrap_or(OWN).to_owned();
    let manifest = tree.text(MANIFEST).unwrap_or_default().to_owned();
    let recorded = sums::version(&project.document);
    let from = recorded.or_else(|| requirements::required(&manifest));
    let from = from.unwrap_or_else(|| OWN.to_owned());
    if is_older(OWN, &to) {
        return Err(Refused::new(format!(
            "this command is of version {OWN} and does not know {to}"
        ))
        .hint(format!(
            "install the newer one first: `cargo install kubewright-cli --version {to}`"
        )));
    }
    if is_older(&to, &from) {
        return Err(Refused::new(format!(
            "the project is of version {from}, which is newer than {to}"
        )));
    }
    // What an earlier version generates is not known here.
    let is_own = !is_older(&to, OWN);
    let model = init::manifest(&project);
    let mut elsewhere = None;
    tree.edit(MANIFEST, format!("require kubewright {to}"), |text| {
        let release = Release {
            version: &to,
            model: is_own.then_some(&*model),
        };
        let moved = moved(text, &release)?;
        elsewhere = moved.elsewhere;
        Ok(moved.text)
    });
    let differing = if is_own {
        regenerate(tree, &project, &manifest)?
    } else {
        Vec::new()
    };
    project.save(tree);
    let files = sums::recorded(&project.document);
    sums::write(&mut project.document, &to, &files);
    project.put(tree);
    let words: BTreeSet<&str> = tree.contents().flat_map(changelog::words).collect();
    let changes = changelog::changes(CHANGELOG, OWN, (&from, &to), &words);
    Ok(Updated {
        from,
        to,
        elsewhere,
        differing,
        changes,
    })
}

/// Writes the files that no user has changed as this version generates them. Returns those of the project itself that a user has
/// changed, if they are generated in another way than they were.
fn regenerate(
    tree: &mut Tree,
    project: &Project,
    manifest: &str,
) -> Result<Vec<(String, String)>, Refused> {
    let recorded = sums::recorded(&project.document);
    let mut differing = Vec::new();
    tree.on_existing(Existing::Overwritten);
    let kept = init::kept(project, requirements::path(manifest).as_deref());
    let kept = kept.into_iter().map(|file| (file, true));
    let examples = examples(tree, project)?.into_iter();
    for ((path, text), is_kept) in kept.chain(examples.map(|file| (file, false))) {
        let Some(known) = tree.text(&path) else {
            continue;
        };
        let new = tree.formatted(&path, &text);
        let hash = recorded.get(&path);
        if known == new {
            // A project that began with an earlier version has no hashes yet.
            tree.create(&path, &text)?;
        } else if hash.is_some_and(|hash| *hash == sums::sum(known)) {
            tree.put(&path, new);
        } else if is_kept && hash.is_none_or(|hash| *hash != sums::sum(&new)) {
            differing.push((path, new));
        }
    }
    Ok(differing)
}

/// Files that users replace by their own work: a difference says nothing then.
fn examples(tree: &Tree, project: &Project) -> Result<Vec<(String, String)>, Refused> {
    let mut files = Vec::new();
    for api in project.apis().into_iter().filter(|api| api.controller) {
        let target = project.find(&api.kind, Some(&api.group), Some(&api.version))?;
        files.extend(Controller::of(&target).files(tree, project));
    }
    for named in project.controllers() {
        files.extend(Controller::named(project, &named)?.files(tree, project));
    }
    for hooks in project.hooks() {
        let target = project.find(&hooks.kind, Some(&hooks.group), Some(&hooks.version))?;
        let is_made = [hooks.defaulting, hooks.validating];
        let parts = std::iter::zip(is_made, &PARTS).filter(|(is_made, _)| *is_made);
        let parts: Vec<_> = parts.map(|(_, part)| part).collect();
        if !parts.is_empty() {
            files.extend(webhook::whole(project, &target, &parts));
        }
    }
    for named in project.tasks() {
        files.extend(task::files(project, &named));
    }
    for named in project.policies() {
        let target = project.find_named(&named.of)?;
        files.extend(policy::files(project, &target, &named));
    }
    Ok(files)
}

/// The version of this command.
const OWN: &str = env!("CARGO_PKG_VERSION");
const MANIFEST: &str = "Cargo.toml";
