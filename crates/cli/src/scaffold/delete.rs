//! `kubewright delete`: deletes scaffolded files, unless a user has changed them.

use super::places::{APP, CONTROLLERS, DEMO, LIBRARY, TABLE, TESTS, type_file};
use super::project::Project;
use super::target::Target;
use super::types::{sample_text, undeclare};
use super::webhook::{self, PARTS, ROOT, WEBHOOKS, conversion_files};
use super::{Kind, Refused, Tree, Version, api, demo, external, rust, templates};

/// Deletes a version of a kind with its controller.
pub(crate) fn api(
    tree: &mut Tree,
    kind: &Kind,
    group: Option<&str>,
    version: Option<&Version>,
    force: bool,
) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    let (kind, version) = (kind.as_ref(), version.map(AsRef::as_ref));
    let made: Vec<_> = project
        .apis()
        .into_iter()
        .filter(|api| {
            api.kind == kind
                && group.is_none_or(|group| group == api.group)
                && version.is_none_or(|version| version == api.version)
        })
        .collect();
    let api = match &made[..] {
        [] => return Ok(()),
        [one] => one.clone(),
        _ => {
            return Err(
                Refused::new(format!("there are several APIs of the kind {kind}"))
                    .hint("say which one you mean with --group and --version"),
            );
        }
    };
    let target = project.find(kind, Some(&api.group), Some(&api.version))?;
    if let Some(hooks) = project.hooks_of(&api.group, kind)
        && (api.resource || api.definition.is_some())
        && (hooks.version == api.version || hooks.converting.contains(&api.version))
    {
        let refused = Refused::new(format!("{kind} of {} has webhooks", api.version));
        return Err(refused.hint(format!(
            "run `kubewright delete webhook --kind {kind}` first"
        )));
    }
    if api.controller {
        uncontrol(tree, &project, &target, force)?;
    }
    if api.resource {
        let versions = project.versions(&api.group, kind);
        if versions.len() > 1 && versions[0] == api {
            return Err(Refused::new(format!(
                "{} is the version that the others were made of",
                api.version
            ))
            .hint("delete the other versions first"));
        }
        undefine(tree, &project, &target, versions.len() == 1, force)?;
    }
    external::forget(tree, &project, &target, force)?;
    project.forget_api(&api);
    tidy(tree, &project);
    project.save(tree);
    Ok(())
}

/// Deletes the webhooks of a kind, and its conversion.
pub(crate) fn webhook(
    tree: &mut Tree,
    kind: &Kind,
    group: Option<&str>,
    force: bool,
) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    let made: Vec<_> = project
        .hooks()
        .into_iter()
        .filter(|hooks| {
            hooks.kind == kind.as_ref() && group.is_none_or(|group| group == hooks.group)
        })
        .collect();
    let hooks = match &made[..] {
        [] => return Ok(()),
        [one] => one.clone(),
        _ => {
            return Err(Refused::new(format!(
                "kinds of several groups are called {}",
                kind.as_ref()
            ))
            .hint("say which one you mean with --group"));
        }
    };
    let target = project.find(&hooks.kind, Some(&hooks.group), Some(&hooks.version))?;
    let module = target.module.clone();
    let values = webhook::values(&project, &target);
    let parts: Vec<_> = [hooks.defaulting, hooks.validating]
        .into_iter()
        .zip(&PARTS)
        .filter_map(|(is_made, part)| is_made.then_some(part))
        .collect();
    if !parts.is_empty() {
        let whole = |head: templates::Template, parts: Vec<templates::Template>| {
            let filled = parts.into_iter().map(|part| part.fill(values.clone()));
            let filled = std::iter::once(head.fill(values.clone())).chain(filled);
            filled.collect::<Vec<_>>().join("\n")
        };
        let [code, test] = webhook::files(&target);
        let was = whole(
            templates::HOOK,
            parts.iter().map(|part| part.code).collect(),
        );
        tree.remove(&code, &was, force)?;
        let was = whole(
            templates::HOOK_TEST,
            parts.iter().map(|part| part.test).collect(),
        );
        tree.remove(&test, &was, force)?;
        for part in parts {
            drop_call(tree, WEBHOOKS, ROOT, &part.call(&target));
            drop_step(tree, &part.step(&project, &target));
        }
        drop_module(tree, WEBHOOKS, &module);
        drop_module(tree, TESTS, &format!("{module}_webhook"));
    }
    if !hooks.converting.is_empty() {
        let name = format!("{module}_conversion");
        // What was written into a conversion cannot be told from what was made: every kind has its own.
        for path in conversion_files(&target) {
            if !force && tree.text(&path).is_some() {
                return Err(Refused::new(format!(
                    "{path} says how objects that are stored can be read"
                ))
                .hint("pass --force to delete the conversion"));
            }
            tree.remove(&path, "", true)?;
        }
        drop_call(tree, WEBHOOKS, ROOT, &webhook::conversion_call(&target));
        drop_module(tree, WEBHOOKS, &name);
        drop_module(tree, TESTS, &name);
    }
    project.forget_hooks(&hooks);
    drop_sample(tree, &project, &target);
    tidy(tree, &project);
    project.save(tree);
    Ok(())
}

fn uncontrol(
    tree: &mut Tree,
    project: &Project,
    target: &Target,
    force: bool,
) -> Result<(), Refused> {
    for (path, made) in api::controller_files(tree, project, target) {
        tree.remove(&path, &made, force)?;
    }
    let what = format!("take `{}` from the App", api::controller(target, "needs"));
    tree.edit(LIBRARY, what, |text| {
        let (_, needs) = rust::parameter(text, APP)?;
        rust::remove(text, APP, &api::controller(target, &needs))
    });
    drop_module(tree, CONTROLLERS, &target.module);
    drop_module(tree, TESTS, &format!("{}_controller", target.module));
    drop_step(tree, &api::controller_step(project, target));
    if !target.is_local() {
        let mut left = project.hooks().into_iter();
        if !left.any(|hooks| hooks.group == target.api.group && hooks.kind == target.api.kind) {
            tree.remove(&target.sample(), "", true)?;
        }
    }
    Ok(())
}

fn undefine(
    tree: &mut Tree,
    project: &Project,
    target: &Target,
    is_last: bool,
    force: bool,
) -> Result<(), Refused> {
    let version = &target.api.version;
    let path = type_file(target);
    let first = project
        .versions(&target.api.group, &target.api.kind)
        .into_iter()
        .next();
    let made = match first.filter(|first| *first != target.api) {
        Some(first) => {
            let first = tree.text(&type_file(&project.target(first))).unwrap_or_default();
            rust::with_version(first, &target.api.kind, version).unwrap_or_default()
        }
        None => templates::API.fill(minijinja::context! {
            group => target.group_name.as_str(), version, kind => target.api.kind.as_str(), plural => target.api.plural.as_str(),
            namespaced => target.api.namespaced,
        }),
    };
    tree.remove(&path, &made, force)?;
    undeclare(tree, target);
    if is_last {
        drop_call(tree, LIBRARY, APP, &api::definition(target));
        drop_step(tree, &api::stored_step(target));
        tree.remove(&target.sample(), "", true)?;
    }
    Ok(())
}

/// Takes away lists that have become empty, and what the program did for their sake.
fn tidy(tree: &mut Tree, project: &Project) {
    let apis = project.apis();
    let lists = [
        (
            TABLE,
            "api",
            apis.iter()
                .any(|api| api.resource || api.definition.is_some()),
        ),
        (
            CONTROLLERS,
            "controllers",
            apis.iter().any(|api| api.controller),
        ),
        (WEBHOOKS, "webhooks", !project.hooks().is_empty()),
    ];
    for (path, module, is_used) in lists {
        if is_used || tree.text(path).is_none() {
            continue;
        }
        drop_module(tree, LIBRARY, module);
        match module {
            "webhooks" => {
                drop_call(tree, LIBRARY, APP, ".webhooks(webhooks::all())");
                drop_call(tree, LIBRARY, APP, &webhook::certificates(project));
            }
            "controllers" => {
                drop_call(
                    tree,
                    LIBRARY,
                    APP,
                    &format!(".leader_election(\"{}\")", project.name()),
                );
                tree.edit(
                    LIBRARY,
                    "rename the parameter `needs` to `_needs`",
                    |text| rust::unname(text, APP),
                );
            }
            _ => {}
        }
        // A list has nothing in it but what the record knows.
        let removed = tree.remove(path, "", true);
        debug_assert!(removed.is_ok());
    }
}

/// Removes the object to try a kind with, if nothing is left that tries it.
fn drop_sample(tree: &mut Tree, project: &Project, target: &Target) {
    let is_used = project
        .apis()
        .iter()
        .any(|api| api.group == target.api.group && api.kind == target.api.kind);
    if !is_used && tree.text(&target.sample()) == Some(sample_text(target).as_str()) {
        let removed = tree.remove(&target.sample(), "", true);
        debug_assert!(removed.is_ok());
    }
}

fn drop_call(tree: &mut Tree, path: &str, root: &str, call: &str) {
    tree.edit(path, format!("take `{call}` away"), |text| {
        rust::remove(text, root, call)
    });
}

fn drop_module(tree: &mut Tree, path: &str, module: &str) {
    tree.edit(path, format!("take `mod {module};` away"), |text| {
        rust::remove_module(text, module)
    });
}

fn drop_step(tree: &mut Tree, step: &str) {
    tree.edit(DEMO, format!("take the step away:\n{step}"), |text| {
        demo::remove(text, step)
    });
}
