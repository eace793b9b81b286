//! `kubewright delete`: deletes scaffolded files, unless a user has changed them.

use super::controller::{Controller, election};
use super::named::{KindName, NamedController, NamedPolicy};
use super::places::{APP, CONTROLLERS, DEMO, LIBRARY, POLICIES, TABLE, TASKS, TESTS, type_file};
use super::project::{Api, Project};
use super::target::Target;
use super::types::{sample_text, undeclare};
use super::webhook::{self, PARTS, ROOT, WEBHOOKS, conversion_files};
use super::{
    Kind, Name, Refused, Tree, Version, api, demo, external, policy, rust, task, templates,
};

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
        // Before the others: one that updates the status in its place says how its files were made.
        uncontrol(tree, &project, &Controller::of(&target), force)?;
    }
    // Those of the kind, and those that create its objects.
    for named in project.controllers() {
        if named.of.is(&api) || named.owned.as_ref().is_some_and(|owned| owned.is(&api)) {
            forget_named(tree, &mut project, &named, force)?;
        }
    }
    for policy in project.policies() {
        if policy.of.is(&api) && target.is_local() {
            forget_policy(tree, &mut project, &policy, force)?;
        }
    }
    let is_tried = is_tried(&project, &KindName::of(&api));
    if !target.is_local() && !is_tried {
        tree.remove(&target.sample(), "", true)?;
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
    if !target.is_local() && is_tried {
        let controller = false;
        project.record_api(&Api { controller, ..api });
    } else {
        project.forget_api(&api);
    }
    tidy(tree, &mut project)?;
    project.save(tree);
    Ok(())
}

/// Deletes a controller with a name of its own.
pub(crate) fn controller(
    tree: &mut Tree,
    kind: &Kind,
    name: &Name,
    force: bool,
) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    let mut made = project.controllers().into_iter();
    let Some(named) = made.find(|named| named.name == name.as_ref()) else {
        return Ok(());
    };
    if named.of.kind != kind.as_ref() {
        return Err(Refused::new(format!(
            "{} is a controller of the kind {}",
            named.name, named.of.kind
        )));
    }
    forget_named(tree, &mut project, &named, force)?;
    tidy(tree, &mut project)?;
    project.save(tree);
    Ok(())
}

/// Deletes a task.
pub(crate) fn task(tree: &mut Tree, name: &Name, force: bool) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    let mut made = project.tasks().into_iter();
    let Some(task) = made.find(|task| task.name == name.as_ref()) else {
        return Ok(());
    };
    for (path, made) in task::files(&project, &task) {
        tree.remove(&path, &made, force)?;
    }
    drop_with_needs(tree, |needs| task::call(&task, needs));
    drop_module(tree, TASKS, &task.module());
    drop_module(tree, TESTS, &format!("{}_task", task.module()));
    project.forget_task(&task.name);
    tidy(tree, &mut project)?;
    project.save(tree);
    Ok(())
}

/// Deletes a policy.
pub(crate) fn policy(tree: &mut Tree, name: &Name, force: bool) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    let mut made = project.policies().into_iter();
    let Some(policy) = made.find(|policy| policy.name == name.as_ref()) else {
        return Ok(());
    };
    forget_policy(tree, &mut project, &policy, force)?;
    tidy(tree, &mut project)?;
    project.save(tree);
    Ok(())
}

fn forget_policy(
    tree: &mut Tree,
    project: &mut Project,
    policy: &NamedPolicy,
    force: bool,
) -> Result<(), Refused> {
    let target = project.find_named(&policy.of)?;
    for (path, made) in policy::files(project, &target, policy) {
        tree.remove(&path, &made, force)?;
    }
    drop_call(tree, WEBHOOKS, ROOT, &policy::call(policy));
    drop_module(tree, POLICIES, &policy.module());
    drop_module(tree, TESTS, &format!("{}_policy", policy.module()));
    project.forget_policy(&policy.name);
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
    let parts: Vec<_> = [hooks.defaulting, hooks.validating]
        .into_iter()
        .zip(&PARTS)
        .filter_map(|(is_made, part)| is_made.then_some(part))
        .collect();
    if !parts.is_empty() {
        for (path, made) in webhook::whole(&project, &target, &parts) {
            tree.remove(&path, &made, force)?;
        }
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
    tidy(tree, &mut project)?;
    project.save(tree);
    Ok(())
}

fn uncontrol(
    tree: &mut Tree,
    project: &Project,
    controller: &Controller,
    force: bool,
) -> Result<(), Refused> {
    for (path, made) in controller.files(tree, project) {
        tree.remove(&path, &made, force)?;
    }
    drop_with_needs(tree, |needs| controller.call(needs));
    drop_module(tree, CONTROLLERS, &controller.module());
    drop_module(tree, TESTS, &format!("{}_controller", controller.module()));
    drop_step(tree, &controller.step(project));
    Ok(())
}

/// Deletes a controller with a name of its own.
fn forget_named(
    tree: &mut Tree,
    project: &mut Project,
    named: &NamedController,
    force: bool,
) -> Result<(), Refused> {
    let controller = Controller::named(project, named)?;
    uncontrol(tree, project, &controller, force)?;
    project.forget_controller(&named.name);
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
fn tidy(tree: &mut Tree, project: &mut Project) -> Result<(), Refused> {
    forget_unused(tree, project)?;
    let (apis, tasks) = (project.apis(), project.tasks());
    let has_controllers =
        apis.iter().any(|api| api.controller) || !project.controllers().is_empty();
    let (has_hooks, has_policies) = (!project.hooks().is_empty(), !project.policies().is_empty());
    let has_types = apis
        .iter()
        .any(|api| api.resource || api.definition.is_some());
    let lists = [
        (TABLE, "api", has_types),
        (CONTROLLERS, "controllers", has_controllers),
        (TASKS, "tasks", !tasks.is_empty()),
        (POLICIES, "policies", has_policies),
        (WEBHOOKS, "webhooks", has_hooks || has_policies),
    ];
    let says = |tree: &Tree, call: &str| tree.text(LIBRARY).is_some_and(|text| text.contains(call));
    if !has_hooks && says(tree, ".certificates(") {
        drop_call(tree, LIBRARY, APP, &webhook::certificates(project));
    }
    let is_led = has_controllers || tasks.iter().any(|task| !task.on_each_replica);
    if !is_led && says(tree, ".leader_election(") {
        drop_call(tree, LIBRARY, APP, &election(project));
    }
    for (path, module, is_used) in lists {
        if is_used || tree.text(path).is_none() {
            continue;
        }
        drop_module(tree, LIBRARY, module);
        match module {
            "webhooks" => drop_call(tree, LIBRARY, APP, ".webhooks(webhooks::all())"),
            "controllers" | "tasks" => tree.edit(
                LIBRARY,
                "rename the parameter `needs` to `_needs`",
                |text| rust::unname(text, APP),
            ),
            _ => {}
        }
        // A list has nothing in it but what the record knows.
        let removed = tree.remove(path, "", true);
        debug_assert!(removed.is_ok());
    }
    Ok(())
}

/// Takes kinds of Kubernetes from the record that have no controller any more, and their objects to try.
fn forget_unused(tree: &mut Tree, project: &mut Project) -> Result<(), Refused> {
    for api in project.apis() {
        let of = KindName::of(&api);
        let mut controllers = project.controllers().into_iter();
        let mut policies = project.policies().into_iter();
        let is_used = api.resource
            || api.controller
            || api.definition.is_some()
            || policies.any(|policy| policy.of == of)
            || controllers.any(|named| named.of == of || named.owned.as_ref() == Some(&of));
        if is_used {
            continue;
        }
        let target = project.find_named(&of)?;
        project.forget_api(&api);
        if !is_tried(project, &of) {
            tree.remove(&target.sample(), "", true)?;
        }
    }
    Ok(())
}

/// Whether webhooks or policies of a kind are tried with its sample.
fn is_tried(project: &Project, kind: &KindName) -> bool {
    let mut policies = project.policies().into_iter();
    project.hooks_of(&kind.group, &kind.kind).is_some() || policies.any(|policy| policy.of == *kind)
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

/// Removes a call from the App that uses its parameter of the type `&mut Needs`.
fn drop_with_needs(tree: &mut Tree, call: impl Fn(&str) -> String) {
    let what = format!("take `{}` from the App", call("needs"));
    tree.edit(LIBRARY, what, |text| {
        let (_, needs) = rust::parameter(text, APP)?;
        rust::remove(text, APP, &call(&needs))
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
