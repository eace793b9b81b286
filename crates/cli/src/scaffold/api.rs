//! `kubewright create api`: a kind of the project's own, and a controller for a kind.

use minijinja::context;

use super::controller::{Controller, control};
use super::definition::Definition;
use super::named::{KindName, NamedController};
use super::names::{self, check_own_kind, hyphened};
use super::places::{APP, DEMO, LIBRARY, type_file};
use super::project::{Api, Project};
use super::target::Target;
use super::tree::Existing;
use super::types::{declare, sample};
use super::{Group, Kind, Name, Owner, Plural, Refused, Tree, Version};
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
    /// The name of the controller, if it is not that of the kind.
    pub(crate) controller_name: Option<Name>,
    /// The kind whose new controller creates objects of this kind, with its group after a dot if several have it.
    pub(crate) owner: Option<Owner>,
    /// Whether existing files are overwritten.
    pub(crate) force: bool,
    /// Definitions of another project, with that of the kind.
    pub(crate) definition: Option<String>,
}

/// Makes a kind, a controller for it, or both.
pub(crate) fn create(tree: &mut Tree, new: &NewApi) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    tree.on_existing(Existing::by_force(new.force));
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
        if !new.controller && new.owner.is_none() {
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
    match &new.controller_name {
        Some(name) if new.controller => {
            project.record_api(&target.api);
            let named = named(&project, &target, name.as_ref());
            add_named(tree, &mut project, named, new.force)?;
        }
        None if new.controller => add_first(tree, &project, &mut target, new.force)?,
        _ => {}
    }
    project.record_api(&target.api);
    if let Some(owner) = &new.owner {
        let named = owning(&mut project, owner, &target, new)?;
        add_named(tree, &mut project, named, new.force)?;
    }
    project.save(tree);
    Ok(())
}

/// Makes the controller that is called after its kind.
fn add_first(
    tree: &mut Tree,
    project: &Project,
    target: &mut Target,
    force: bool,
) -> Result<(), Refused> {
    let Api {
        group,
        version,
        kind,
        ..
    } = &target.api;
    let mut others = project.apis().into_iter();
    let other = others.find(|api| {
        api.controller && api.group == *group && api.kind == *kind && api.version != *version
    });
    if let Some(other) = other {
        return Err(Refused::new(format!(
            "{kind} has a controller already, for {}",
            other.version
        ))
        .hint("one version is enough: the API server converts; name a second controller with --controller-name"));
    }
    if !target.api.controller || force {
        control(tree, project, &Controller::of(target))?;
        target.api.controller = true;
    }
    Ok(())
}

/// A controller of a kind with a name of its own. The first controller of a kind updates the status.
fn named(project: &Project, target: &Target, name: &str) -> NamedController {
    let of = KindName::of(&target.api);
    let mut others = project.controllers().into_iter();
    let has_status = !target.api.controller && !others.any(|other| other.status && other.of == of);
    NamedController {
        name: name.to_owned(),
        of,
        owned: None,
        status: has_status,
    }
}

/// The controller of the owner that creates objects of a kind.
fn owning(
    project: &mut Project,
    owner: &Owner,
    target: &Target,
    new: &NewApi,
) -> Result<NamedController, Refused> {
    let owner = project.find(&owner.kind, owner.group.as_deref(), None)?;
    let (by, of) = (&owner.api, &target.api);
    if by.kind == of.kind {
        return Err(Refused::new(format!(
            "the owner of a {} has to be of a kind with another name",
            of.kind
        )));
    }
    if by.namespaced && !of.namespaced {
        return Err(Refused::new(format!(
            "a {} is in a namespace and cannot own a {}, which is not",
            by.kind, of.kind
        ))
        .hint("Kubernetes lets objects in a namespace own only objects in the same one"));
    }
    let name = match (&new.controller_name, new.controller) {
        (Some(_), true) => {
            return Err(
                Refused::new("--controller-name could mean either controller")
                    .hint("run the command twice: with --controller, and with --owner"),
            );
        }
        (Some(name), false) => name.as_ref().to_owned(),
        (None, _) => format!(
            "{}-{}",
            hyphened(&owner.module),
            names::plural(&hyphened(&target.module))
        ),
    };
    let is_config_map = of.kind == "ConfigMap" && !target.is_local();
    project.record_api(by);
    Ok(NamedController {
        name,
        of: KindName::of(by),
        owned: (!is_config_map).then(|| KindName::of(of)),
        status: false,
    })
}

fn add_named(
    tree: &mut Tree,
    project: &mut Project,
    named: NamedController,
    force: bool,
) -> Result<(), Refused> {
    let mut others = project.controllers().into_iter();
    let known = others.find(|known| known.name == named.name);
    if let Some(known) = &known
        && (&known.of, &known.owned) != (&named.of, &named.owned)
    {
        return Err(Refused::new(format!(
            "there is a controller {} already, of the kind {}",
            known.name, known.of.kind
        ))
        .hint("choose another name with --controller-name"));
    }
    let is_known = known.is_some();
    let named = known.unwrap_or(named);
    project.record_controller(&named);
    if !is_known || force {
        let controller = Controller::named(project, &named)?;
        control(tree, project, &controller)?;
    }
    Ok(())
}

/// The call that adds a kind to the program.
pub(super) fn definition(target: &Target) -> String {
    format!(
        ".crd::<{}>()",
        target.in_library().replacen("crate::", "", 1)
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
    let known = made.iter().find(|known| known.version == version);
    if let (Some(known), false) = (known, new.force) {
        return Ok(project.target(known.clone()));
    }
    let api = known.cloned().unwrap_or(api);
    project.record_api(&api);
    let target = project.target(api);
    let earlier = made.first().filter(|first| **first != target.api);
    write_type(tree, project, &target, earlier)?;
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
