//! The type of a kind: its place in the table of kinds, what it is made of, and an object of it to try.

use minijinja::context;

use super::names::module;
use super::places::{LIBRARY, TABLE, type_file};
use super::target::Target;
use super::{Refused, Tree, rust, templates};

/// Declares the file of a kind's type, which is there, in the table of kinds.
pub(super) fn declare(tree: &mut Tree, target: &Target) -> Result<(), Refused> {
    if tree.text(TABLE).is_none() {
        tree.create(TABLE, &templates::APIS.fill(context! {}))?;
    }
    let (kind, name) = (&target.api.kind, module(&target.api.kind));
    let public = match status(tree, target) {
        Some(status) => format!("{{{kind}, {kind}Spec, {status}}}"),
        None => format!("{{{kind}, {kind}Spec}}"),
    };
    let path = type_file(target);
    tree.edit(TABLE, format!("declare `mod {name};` for {path}"), |text| {
        in_table(target, &public, |entry| rust::add_api(text, entry))
    });
    tree.edit(LIBRARY, "add `pub mod api;`", |text| {
        rust::add_module(text, "pub ", "api")
    });
    Ok(())
}

/// Takes the file of a kind's type from the table of kinds.
pub(super) fn undeclare(tree: &mut Tree, target: &Target) {
    let (name, version) = (module(&target.api.kind), &target.api.version);
    tree.edit(
        TABLE,
        format!("take `mod {name};` from `{version}`"),
        |text| in_table(target, "", |entry| rust::remove_api(text, entry)),
    );
}

fn in_table<T>(target: &Target, public: &str, edit: impl FnOnce(&rust::Api<'_>) -> T) -> T {
    edit(&rust::Api {
        group: &module(&target.api.group),
        group_name: &target.group_name,
        version: &target.api.version,
        module: &module(&target.api.kind),
        public,
    })
}

/// What the kind is made of, as its file has it now.
pub(super) fn parts(tree: &Tree, target: &Target) -> Result<rust::Parts, String> {
    let text = tree.text(&type_file(target)).ok_or("it is not there")?;
    rust::parts(text, &target.api.kind)
}

/// The type of the status that the file of a kind has.
fn status(tree: &Tree, target: &Target) -> Option<String> {
    let status = parts(tree, target).ok()?.status;
    status.map(|status| status.name)
}

/// Whether the status of a kind is such as a controller is made for.
pub(super) fn has_conditions(tree: &Tree, target: &Target) -> bool {
    let status = parts(tree, target).ok().and_then(|parts| parts.status);
    let has = |name: &str, fields: &[rust::Field]| fields.iter().any(|field| field.name == name);
    target.api.resource
        && status.is_some_and(|status| {
            has("conditions", &status.fields) && has("observed_generation", &status.fields)
        })
}

/// Writes an object of the kind to try it with, unless there is one.
pub(super) fn sample(tree: &mut Tree, target: &Target) {
    let path = target.sample();
    if tree.text(&path).is_none() {
        tree.put(&path, sample_text(target));
    }
}

pub(super) fn sample_text(target: &Target) -> String {
    templates::SAMPLE.fill(context! {
        api_version => target.api_version(), kind => target.api.kind.as_str(), body => target.body.as_str(),
    })
}
