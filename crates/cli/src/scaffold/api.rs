//! `kubewright create api`: a kind of the project's own, and a controller for a kind.

use minijinja::context;

use super::definition::Definition;
use super::names::{self, check_own_kind, hyphened};
use super::places::{APP, CONTROLLERS, DEMO, LIBRARY, TESTS, type_file};
use super::project::{Api, Project};
use super::target::Target;
use super::types::{declare, has_conditions, sample};
use super::{Group, Kind, Plural, Refused, Tree, Version};
use super::{demo, dependencies, external, rust, templates};

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewApi {
    pub(crate) group: Group,
    pub(crate) version: Version,
    pub(crate) kind: Kind,
    pub(crate) plural: Option<Plural>,
    /// Whether its objects are in namespaces; those of a new kind are unless it is said.
    pub(crate) namespaced: Option<bool>,
    /// Whether the type is made; if not, the kind is there already.
    pub(crate) resource: bool,
    pub(crate) controller: bool,
    /// Definitions of another project, with that of the kind.
    pub(crate) definition: Option<String>,
}

/// Makes a kind, a controller for it, or both.
pub(crate) fn create(tree: &mut Tree, new: &NewApi) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    let (group, version) = (new.group.as_ref(), new.version.as_ref());
    let kind = new.kind.as_ref();
    let mut target = if new.resource {
        if new.definition.is_some() {
            return Err(foreign(kind));
        }
        check_own_kind(&new.kind).map_err(|why| {
            Refused::new(format!("a kind cannot be called {kind}: {why}"))
                .hint(format!("choose another name, such as My{kind}"))
        })?;
        define(tree, &mut project, new)?
    } else {
        if !new.controller {
            return Err(
                Refused::new("there is nothing to make without a type and a controller")
                    .hint("leave --no-resource away, or add --controller"),
            );
        }
        if let Some(text) = &new.definition {
            let definition = Definition::find(text, kind, Some(version))?;
            external::adopt(tree, &mut project, &definition, Some(group))?;
        }
        let target = project.find(kind, Some(group), Some(version))?;
        agree(&target.api, new)?;
        target
    };
    if new.controller {
        let others = project.apis().into_iter();
        let mut controlled = others.filter(|api| {
            api.controller && api.group == group && api.kind == kind && api.version != version
        });
        if let Some(other) = controlled.next() {
            return Err(Refused::new(format!(
                "{kind} has a controller already, for {}",
                other.version
            ))
            .hint("one version is enough: the API server converts"));
        }
        if !target.api.controller {
            control(tree, &project, &target)?;
            target.api.controller = true;
        }
    }
    project.record_api(&target.api);
    project.save(tree);
    Ok(())
}

/// The call that adds a kind to the program.
pub(super) fn definition(target: &Target) -> String {
    format!(
        ".crd::<{}>()",
        target.in_library().replacen("crate::", "", 1)
    )
}

/// The call that adds a controller to the program, whose parameter has this name.
pub(super) fn controller(target: &Target, needs: &str) -> String {
    format!(
        ".controller(controllers::{}::controller({needs}))",
        target.module
    )
}

fn foreign(kind: &str) -> Refused {
    Refused::new(format!("{kind} is defined by another project already")).hint("add --no-resource")
}

/// Refuses what is said of a kind that is there and is not so.
fn agree(known: &Api, new: &NewApi) -> Result<(), Refused> {
    let plural = new.plural.as_ref().map(AsRef::as_ref);
    if new.namespaced.is_none_or(|said| said == known.namespaced)
        && plural.is_none_or(|said| said == known.plural)
    {
        return Ok(());
    }
    let scope = if known.namespaced {
        "namespaced"
    } else {
        "cluster-scoped"
    };
    Err(Refused::new(format!(
        "{} of {} is {scope} and has the plural {} in {}",
        known.kind, known.group, known.plural, known.version
    ))
    .hint("all versions of a kind share both"))
}

fn define(tree: &mut Tree, project: &mut Project, new: &NewApi) -> Result<Target, Refused> {
    let (group, version, kind) = (new.group.as_ref(), new.version.as_ref(), new.kind.as_ref());
    let made = project.versions(group, kind);
    if let Some(known) = made.first() {
        agree(known, new)?;
    }
    let mut apis = project.apis().into_iter();
    if apis.any(|api| api.definition.is_some() && api.group == group && api.kind == kind) {
        return Err(foreign(kind));
    }
    let plural = match (made.first(), &new.plural) {
        (Some(known), _) => known.plural.clone(),
        (None, Some(said)) => said.as_ref().to_owned(),
        (None, None) => names::plural(&kind.to_lowercase()),
    };
    let namespaced = made.first().map(|known| known.namespaced);
    let api = Api {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural,
        namespaced: namespaced.or(new.namespaced).unwrap_or(true),
        resource: true,
        controller: false,
        definition: None,
    };
    if let Some(known) = made.iter().find(|known| known.version == version) {
        return Ok(project.target(known.clone()));
    }
    project.record_api(&api);
    let target = project.target(api);
    write_type(tree, project, &target, made.first())?;
    Ok(target)
}

fn write_type(
    tree: &mut Tree,
    project: &Project,
    target: &Target,
    earlier: Option<&Api>,
) -> Result<(), Refused> {
    let Api { version, kind, .. } = &target.api;
    let path = type_file(target);
    let copied = earlier.map(|earlier| {
        let earlier = type_file(&project.target(earlier.clone()));
        let text = tree
            .text(&earlier)
            .ok_or_else(|| Refused::new(format!("{earlier} is not there")))?;
        rust::with_version(text, kind, version).map_err(|why| {
            Refused::new(format!("cannot make {path} of {earlier}: {why}"))
                .hint("copy it by hand, and declare it in src/api.rs")
        })
    });
    let text = match copied {
        Some(text) => text?,
        None => templates::API.fill(context! {
            group => target.group_name.as_str(),
            version,
            kind,
            plural => target.api.plural.as_str(),
            namespaced => target.api.namespaced,
        }),
    };
    tree.create(&path, &text)?;
    declare(tree, target)?;
    tree.edit(
        "Cargo.toml",
        "add the dependencies kube, schemars, serde and serde_json",
        |text| dependencies::add(text, &dependencies::FOR_KINDS),
    );
    if earlier.is_none() {
        // Later versions are in the definition when they are converted.
        let call = definition(target);
        tree.edit(LIBRARY, format!("add `{call}` to the App"), |text| {
            rust::append(text, APP, &call)
        });
        sample(tree, target);
        let step = stored_step(target);
        tree.edit(DEMO, format!("add the step:\n{step}"), |text| {
            demo::add(text, &step)
        });
    }
    Ok(())
}

pub(super) fn stored_step(target: &Target) -> String {
    templates::STORED_STEP
        .fill(context! { kind => target.api.kind.as_str(), sample => target.sample() })
}

fn control(tree: &mut Tree, project: &Project, target: &Target) -> Result<(), Refused> {
    let files = controller_files(tree, project, target);
    for (path, text) in &files {
        tree.create(path, text)?;
    }
    let module = &target.module;
    list(
        tree,
        CONTROLLERS,
        "pub(crate) ",
        module,
        &templates::CONTROLLERS.fill(context! {}),
    )?;
    tree.edit(LIBRARY, "add `mod controllers;`", |text| {
        rust::add_module(text, "", "controllers")
    });
    test(tree, &format!("{module}_controller"));
    let what = format!("add `{}` to the App", controller(target, "needs"));
    let name = project.name();
    tree.edit(LIBRARY, what, |text| {
        let (text, needs) = rust::parameter(text, APP)?;
        rust::append(&text, APP, &controller(target, &needs))
    });
    // One replica at a time is to run controllers, whatever its name for that.
    if !tree
        .text(LIBRARY)
        .is_some_and(|text| text.contains(".leader_election("))
    {
        let call = format!(".leader_election(\"{name}\")");
        tree.edit(LIBRARY, format!("add `{call}` to the App"), |text| {
            rust::append(text, APP, &call)
        });
    }
    sample(tree, target);
    let step = controller_step(project, target);
    tree.edit(DEMO, format!("add the step:\n{step}"), |text| {
        demo::add(text, &step)
    });
    Ok(())
}

/// The files of a controller, with their text.
pub(super) fn controller_files(
    tree: &Tree,
    project: &Project,
    target: &Target,
) -> [(String, String); 2] {
    let module = &target.module;
    let values = context! {
        kind => target.api.kind.as_str(),
        module,
        name => hyphened(module),
        many => names::plural(&target.api.kind),
        controller => names::plural(&hyphened(module)),
        path => target.in_library(),
        test_path => target.in_tests(&project.library()),
        own => target.api.resource,
        local => target.is_local(),
        status => has_conditions(tree, target),
        namespaced => target.api.namespaced,
        domain => project.domain(),
        sample => target.sample(),
    };
    [
        (
            format!("src/controllers/{module}.rs"),
            templates::CONTROLLER.fill(values.clone()),
        ),
        (
            format!("tests/all/{module}_controller.rs"),
            templates::CONTROLLER_TEST.fill(values),
        ),
    ]
}

pub(super) fn controller_step(project: &Project, target: &Target) -> String {
    templates::CONTROLLER_STEP.fill(context! {
        kind => target.api.kind.as_str(),
        name => hyphened(&target.module),
        api_version => target.api_version(),
        own => target.api.resource,
        domain => project.domain(),
        sample => target.sample(),
        body => indented(&target.body, 4),
    })
}

/// Adds a module to a list of modules, which is made if there is none.
pub(super) fn list(
    tree: &mut Tree,
    path: &str,
    visibility: &str,
    module: &str,
    empty: &str,
) -> Result<(), Refused> {
    if tree.text(path).is_none() {
        tree.create(path, empty)?;
    }
    tree.edit(path, format!("add `{visibility}mod {module};`"), |text| {
        rust::add_module(text, visibility, module)
    });
    Ok(())
}

/// Adds a module to the tests, and what they need to the dependencies.
pub(super) fn test(tree: &mut Tree, module: &str) {
    tree.edit(TESTS, format!("add `mod {module};`"), |text| {
        rust::add_module(text, "", module)
    });
    tree.edit(
        "Cargo.toml",
        "add `kubewright` with the feature `testing` to [dev-dependencies]",
        dependencies::for_tests,
    );
}

/// YAML as it stands deeper in other YAML.
pub(super) fn indented(text: &str, by: usize) -> String {
    let lines = text.lines().map(|line| format!("{:by$}{line}\n", ""));
    lines.collect()
}
