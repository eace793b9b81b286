//! `kubewright create webhook`: defaults, rules and conversion for a kind of the project or of Kubernetes.

use minijinja::{Value, context};

use super::definition::Definition;
use super::demo::indented;
use super::lists::{list, test};
use super::names::{hyphened, module};
use super::places::{APP, DEMO, LIBRARY, type_file};
use super::project::{Hooks, Project};
use super::target::Target;
use super::templates::Template;
use super::tree::Existing;
use super::types::{parts, sample};
use super::{Group, Kind, Refused, Tree, Version};
use super::{demo, external, rust, templates};

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewWebhook {
    pub(crate) kind: Kind,
    pub(crate) group: Option<Group>,
    pub(crate) version: Option<Version>,
    pub(crate) defaulting: bool,
    pub(crate) validating: bool,
    pub(crate) conversion: bool,
    pub(crate) existing: Existing,
    /// Definitions of another project, with that of the kind.
    pub(crate) definition: Option<String>,
}

/// Makes webhooks, beside those that there are.
pub(crate) fn create(tree: &mut Tree, new: &NewWebhook) -> Result<(), Refused> {
    if !(new.defaulting || new.validating || new.conversion) {
        return Err(Refused::new("it is not said what the webhook is to do")
            .hint("add --defaulting, --validating or --conversion, or several of them"));
    }
    let mut project = Project::read(tree)?;
    let force = new.existing == Existing::Overwritten;
    tree.on_existing(new.existing);
    let group = new.group.as_ref().map(AsRef::as_ref);
    let version = new.version.as_ref().map(AsRef::as_ref);
    if let Some(text) = &new.definition {
        let definition = Definition::find(text, new.kind.as_ref(), version)?;
        external::adopt(tree, &mut project, &definition, group)?;
    }
    let target = project.find(new.kind.as_ref(), group, version)?;
    let known = project.hooks_of(&target.api.group, &target.api.kind);
    let mut hooks = known.unwrap_or_else(|| Hooks {
        group: target.api.group.clone(),
        version: target.api.version.clone(),
        kind: target.api.kind.clone(),
        defaulting: false,
        validating: false,
        converting: Vec::new(),
    });
    if hooks.version != target.api.version && version.is_some() {
        return Err(Refused::new(format!(
            "the webhooks of {} are for {} already",
            hooks.kind, hooks.version
        ))
        .hint("one version is enough: the API server converts"));
    }
    let target = project.find(
        &hooks.kind.clone(),
        Some(&hooks.group.clone()),
        Some(&hooks.version.clone()),
    )?;
    let wanted = [new.defaulting, new.validating];
    let known = [hooks.defaulting, hooks.validating];
    if force && wanted.contains(&true) {
        let parts = std::iter::zip(std::iter::zip(wanted, known), &PARTS);
        let parts = parts.filter(|((is_wanted, is_known), _)| *is_wanted || *is_known);
        let parts: Vec<&Part> = parts.map(|(_, part)| part).collect();
        for (path, text) in whole(&project, &target, &parts) {
            tree.create(&path, &text)?;
        }
    }
    for ((is_wanted, is_known), part) in std::iter::zip(std::iter::zip(wanted, known), &PARTS) {
        if is_wanted && !is_known {
            if !force {
                write(tree, &project, &target, part)?;
            }
            add(tree, &project, &target, part)?;
        }
    }
    hooks.defaulting |= new.defaulting;
    hooks.validating |= new.validating;
    if new.conversion {
        if force {
            hooks.converting.clear();
        }
        let spokes = missing(&project, &target, &hooks)?;
        convert(tree, &project, &target, &spokes, force)?;
        hooks.converting.extend(spokes);
    }
    project.record_hooks(&hooks);
    project.save(tree);
    Ok(())
}

/// One of the two ways to judge an object.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) code: Template,
    pub(super) test: Template,
    step: Template,
    function: &'static str,
}

pub(super) const PARTS: [Part; 2] = [
    Part {
        code: templates::DEFAULTING,
        test: templates::DEFAULTING_TEST,
        step: templates::DEFAULTING_STEP,
        function: "mutator",
    },
    Part {
        code: templates::VALIDATING,
        test: templates::VALIDATING_TEST,
        step: templates::VALIDATING_STEP,
        function: "validator",
    },
];

impl Part {
    pub(super) fn call(&self, target: &Target) -> String {
        format!(".with({}::{}())", target.module, self.function)
    }

    pub(super) fn step(&self, project: &Project, target: &Target) -> String {
        self.step.fill(values(project, target))
    }
}

/// The files of a kind's webhooks, with their text.
pub(super) fn whole(project: &Project, target: &Target, parts: &[&Part]) -> [(String, String); 2] {
    let values = values(project, target);
    let text = |head: Template, parts: Vec<Template>| {
        let all = std::iter::once(head).chain(parts);
        let filled: Vec<String> = all.map(|part| part.fill(values.clone())).collect();
        filled.join("\n")
    };
    let [code, test] = files(target);
    let of_code = parts.iter().map(|part| part.code).collect();
    let of_test = parts.iter().map(|part| part.test).collect();
    [
        (code, text(templates::HOOK, of_code)),
        (test, text(templates::HOOK_TEST, of_test)),
    ]
}

/// Writes a part into the files of a kind's webhooks, behind what they have.
fn write(tree: &mut Tree, project: &Project, target: &Target, part: &Part) -> Result<(), Refused> {
    let values = values(project, target);
    let code = files(target);
    for (path, head, text) in [
        (&code[0], templates::HOOK, part.code),
        (&code[1], templates::HOOK_TEST, part.test),
    ] {
        let text = text.fill(values.clone());
        if tree.text(path).is_none() {
            tree.create(path, &format!("{}\n{text}", head.fill(values.clone())))?;
        } else {
            tree.edit(path, format!("add:\n{text}"), |before| {
                Ok(format!("{}\n\n{text}", before.trim_end()))
            });
        }
    }
    Ok(())
}

/// Adds a part to the program, its tests and its demo.
fn add(tree: &mut Tree, project: &Project, target: &Target, part: &Part) -> Result<(), Refused> {
    let module = &target.module;
    list(
        tree,
        WEBHOOKS,
        "",
        module,
        &templates::WEBHOOKS.fill(values(project, target)),
    )?;
    serve(tree, project);
    let call = part.call(target);
    tree.edit(WEBHOOKS, format!("add `{call}` to the Webhooks"), |text| {
        rust::append(text, ROOT, &call)
    });
    test(tree, &format!("{module}_webhook"));
    sample(tree, target);
    let step = part.step(project, target);
    tree.edit(DEMO, format!("add the step:\n{step}"), |text| {
        demo::add(text, &step)
    });
    Ok(())
}

/// Adds the webhooks and policies of `src/webhooks.rs` to the program.
pub(super) fn list_webhooks(tree: &mut Tree) {
    tree.edit(LIBRARY, "add `pub mod webhooks;`", |text| {
        rust::add_module(text, "pub ", "webhooks")
    });
    let call = ".webhooks(webhooks::all())";
    let has_others = tree
        .text(LIBRARY)
        .is_some_and(|text| text.contains(".webhooks("));
    let what = if has_others {
        "an App has one Webhooks: hand the hooks of src/webhooks.rs to the one that `.webhooks(…)` is given".to_owned()
    } else {
        format!("add `{call}` to the App")
    };
    tree.edit(LIBRARY, what, |text| rust::append(text, APP, call));
}

/// Makes the program serve the webhooks of `src/webhooks.rs`, with its own certificates.
fn serve(tree: &mut Tree, project: &Project) {
    list_webhooks(tree);
    // Who has chosen another source of certificates has said so.
    let sources = [".certificates(", ".publish_ca(", ".inject_ca_from("];
    let is_chosen = tree
        .text(LIBRARY)
        .is_some_and(|text| sources.iter().any(|source| text.contains(source)));
    if !is_chosen {
        let call = certificates(project);
        tree.edit(LIBRARY, format!("add `{call}` to the App"), |text| {
            rust::append(text, APP, &call)
        });
    }
}

pub(super) fn certificates(project: &Project) -> String {
    let name = project.name();
    format!(
        ".certificates(SharedAuthority::in_secret(\"{name}-certificates\").for_service(\"{name}\"))"
    )
}

/// The files of a kind's webhooks: the code, and its tests.
pub(super) fn files(target: &Target) -> [String; 2] {
    let module = &target.module;
    [
        format!("src/webhooks/{module}.rs"),
        format!("tests/all/{module}_webhook.rs"),
    ]
}

/// The files of a kind's conversion: the code, and its tests.
pub(super) fn conversion_files(target: &Target) -> [String; 2] {
    let module = &target.module;
    [
        format!("src/webhooks/{module}_conversion.rs"),
        format!("tests/all/{module}_conversion.rs"),
    ]
}

pub(super) fn conversion_call(target: &Target) -> String {
    format!(".with({}_conversion::conversion())", target.module)
}

pub(super) fn values(project: &Project, target: &Target) -> Value {
    context! {
        kind => target.api.kind.as_str(),
        module => target.module.as_str(),
        name => hyphened(&target.module),
        many => super::names::plural(&target.api.kind),
        path => target.in_library(),
        test_path => target.in_tests(&project.library()),
        api_version => target.api_version(),
        own => target.api.resource,
        local => target.is_local(),
        namespaced => target.api.namespaced,
        domain => project.domain(),
        sample => target.sample(),
        body => indented(&target.body, 4),
    }
}

/// The versions that are not converted yet.
fn missing(project: &Project, hub: &Target, hooks: &Hooks) -> Result<Vec<String>, Refused> {
    let kind = &hub.api.kind;
    if !hub.api.resource {
        return Err(Refused::new(format!(
            "{kind} is not a kind of this project: it is not for it to convert"
        )));
    }
    let versions = project
        .versions(&hub.api.group, kind)
        .into_iter()
        .map(|api| api.version);
    let others: Vec<String> = versions
        .filter(|version| *version != hub.api.version)
        .collect();
    if others.is_empty() {
        return Err(Refused::new(format!(
            "{kind} has one version: there is nothing to convert"
        ))
        .hint("make another version with `kubewright create api` first"));
    }
    Ok(others
        .into_iter()
        .filter(|version| !hooks.converting.contains(version))
        .collect())
}

fn convert(
    tree: &mut Tree,
    project: &Project,
    hub: &Target,
    spokes: &[String],
    force: bool,
) -> Result<(), Refused> {
    let [code, tests] = conversion_files(hub);
    for (index, version) in spokes.iter().enumerate() {
        let spoke = project.find(&hub.api.kind, Some(&hub.api.group), Some(version))?;
        let values = context! {
            kind => hub.api.kind.as_str(),
            group => module(&hub.api.group),
            hub => hub.api.version.as_str(),
            spoke => version,
            module => hub.module.as_str(),
            library => project.library(),
            namespaced => hub.api.namespaced,
            sample => hub.sample(),
            fields => fields(tree, hub, &spoke)?,
        };
        let text = templates::SPOKE.fill(values.clone());
        if tree.text(&code).is_none() || (force && index == 0) {
            tree.create(
                &code,
                &format!("{}\n{text}", templates::CONVERSION.fill(values.clone())),
            )?;
            tree.create(&tests, &templates::CONVERSION_TEST.fill(values))?;
            let name = format!("{}_conversion", hub.module);
            list(
                tree,
                WEBHOOKS,
                "pub ",
                &name,
                &templates::WEBHOOKS.fill(context! { domain => project.domain() }),
            )?;
            serve(tree, project);
            let call = conversion_call(hub);
            tree.edit(WEBHOOKS, format!("add `{call}` to the Webhooks"), |text| {
                rust::append(text, ROOT, &call)
            });
            test(tree, &name);
        } else {
            let call = format!(
                ".spoke::<{}::{version}::{}>()",
                module(&hub.api.group),
                hub.api.kind
            );
            tree.edit(&code, format!("add `{call}` and:\n{text}"), |before| {
                let with_spoke = rust::append(before, "converting", &call)?;
                Ok(format!("{}\n\n{text}", with_spoke.trim_end()))
            });
        }
    }
    Ok(())
}

/// What both versions have and can be handed over as it is: the names of the fields of the spec, the type of the status, and the
/// names of its fields.
fn fields(tree: &Tree, hub: &Target, spoke: &Target) -> Result<Value, Refused> {
    let read = |target: &Target| {
        let path = type_file(target);
        parts(tree, target).map_err(|why| format!("{path}: {why}"))
    };
    let cannot = |why: String| {
        Refused::new(format!(
            "cannot write the conversion between {} and {}: {why}",
            hub.api.version, spoke.api.version
        ))
        .hint("write `impl From` for both ways by hand, and `converting::<Hub>().spoke::<Other>()` into src/webhooks.rs")
    };
    let (one, other) = (read(hub).map_err(cannot)?, read(spoke).map_err(cannot)?);
    if one != other {
        return Err(cannot("they do not have the same fields".to_owned()));
    }
    let of_status = one.status.iter().flat_map(|status| &status.fields);
    let mut all = one.spec.iter().chain(of_status);
    if let Some(field) = all.find(|field| field.plain.is_none()) {
        return Err(cannot(format!(
            "the field `{}` is of a type of their own",
            field.name
        )));
    }
    let names = |fields: &[rust::Field]| -> Vec<String> {
        fields.iter().map(|field| field.name.clone()).collect()
    };
    let status = one.status.as_ref();
    Ok(context! {
        spec => names(&one.spec),
        status => status.map(|status| context! { type => status.name.as_str(), fields => names(&status.fields) }),
    })
}

pub(super) const ROOT: &str = "Webhooks::new";
pub(super) const WEBHOOKS: &str = "src/webhooks.rs";
