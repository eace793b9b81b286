//! Controllers: that of a kind, which is called after it, and others with names of their own.

use heck::{ToSnakeCase, ToUpperCamelCase};
use minijinja::{Value, context};

use super::demo::indented;
use super::lists::{list, test};
use super::named::NamedController;
use super::names::{self, hyphened};
use super::places::{APP, CONTROLLERS, DEMO, LIBRARY};
use super::project::Project;
use super::target::Target;
use super::types::{has_conditions, sample};
use super::{Refused, Tree, demo, dependencies, rust, templates};

/// A controller with everything that is called after it.
#[derive(Debug)]
pub(super) struct Controller {
    /// The kind that it reconciles.
    target: Target,
    named: Option<NamedController>,
    /// The kind whose objects it creates, if that is not ConfigMap.
    owned: Option<Target>,
}

impl Controller {
    /// The controller that is called after its kind.
    pub(super) fn of(target: &Target) -> Self {
        Self {
            target: target.clone(),
            named: None,
            owned: None,
        }
    }

    pub(super) fn named(project: &Project, named: &NamedController) -> Result<Self, Refused> {
        let owned = named.owned.as_ref();
        Ok(Self {
            target: project.find_named(&named.of)?,
            owned: owned.map(|kind| project.find_named(kind)).transpose()?,
            named: Some(named.clone()),
        })
    }

    /// The name of its module.
    pub(super) fn module(&self) -> String {
        let named = self.named.as_ref().map(NamedController::module);
        named.unwrap_or_else(|| self.target.module.clone())
    }

    /// What the names of the objects end with that it creates.
    fn suffix(&self) -> String {
        let named = self.named.as_ref().map(|named| named.name.clone());
        named.unwrap_or_else(|| hyphened(&self.target.module))
    }

    /// The kind whose objects it creates.
    fn creates(&self) -> &str {
        let owned = self.owned.as_ref();
        owned.map_or("ConfigMap", |owned| owned.api.kind.as_str())
    }

    /// Whether it updates the status: a kind has one controller that does, so that no two write the same condition.
    fn updates_status(&self, project: &Project) -> bool {
        match &self.named {
            Some(named) => named.status,
            None => !project
                .controllers()
                .iter()
                .any(|other| other.status && other.of.is(&self.target.api)),
        }
    }

    /// The call that adds it to the program, whose parameter has this name.
    pub(super) fn call(&self, needs: &str) -> String {
        format!(
            ".controller(controllers::{}::controller({needs}))",
            self.module()
        )
    }

    /// Its files, with their text.
    pub(super) fn files(&self, tree: &Tree, project: &Project) -> [(String, String); 2] {
        let values = self.values(tree, project);
        let module = self.module();
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

    fn values(&self, tree: &Tree, project: &Project) -> Value {
        let target = &self.target;
        let (kind, owned) = (&target.api.kind, self.owned.as_ref());
        let conditions = has_conditions(tree, target);
        let config_map = "k8s_openapi::api::core::v1::ConfigMap".to_owned();
        let creates = owned.map_or_else(|| config_map.clone(), Target::in_library);
        let is_local = |target: &Target| target.is_local();
        let mut foreign = Vec::new();
        let mut local = Vec::new();
        for (path, here) in [
            (creates, owned.is_some_and(is_local)),
            (target.in_library(), target.is_local()),
        ] {
            let paths = if here { &mut local } else { &mut foreign };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let library = project.library();
        let in_tests = owned.map_or(config_map, |owned| owned.in_tests(&library));
        let mut tested = vec![target.in_tests(&library), in_tests];
        tested.dedup();
        let is_typed = owned.is_some_and(|owned| owned.api.resource);
        if is_typed {
            let path = &mut local[0];
            let (module, kind) = path.rsplit_once("::").unwrap_or(("", path));
            *path = format!("{module}::{{{kind}, {kind}Spec}}");
        }
        let creates = self.creates();
        let controller = match &self.named {
            Some(named) => named.name.clone(),
            None => names::plural(&self.suffix()),
        };
        context! {
            kind,
            many => names::plural(kind),
            named => self.named.is_some(),
            controller,
            reconciler => match &self.named {
                Some(named) => format!("{}Reconciler", named.name.to_upper_camel_case()),
                None => format!("{kind}Reconciler"),
            },
            suffix => self.suffix(),
            foreign,
            local,
            tested,
            own => target.api.resource,
            conditions,
            status => conditions && self.updates_status(project),
            namespaced => target.api.namespaced,
            domain => project.domain(),
            sample => target.sample(),
            creates,
            a => article(creates),
            object => variable(creates),
            objects => names::plural(&variable(creates)),
            needs_namespace => !target.api.namespaced && owned.is_none_or(|owned| owned.api.namespaced),
            is_config_map => owned.is_none(),
            is_typed,
            body => owned.map(|owned| body(&owned.body)),
        }
    }

    /// The step of the demo that shows it.
    pub(super) fn step(&self, project: &Project) -> String {
        let target = &self.target;
        let owned = self.owned.as_ref();
        templates::CONTROLLER_STEP.fill(context! {
            kind => target.api.kind.as_str(),
            controller => self.named.as_ref().map(|named| named.name.as_str()),
            suffix => self.suffix(),
            creates => self.creates(),
            a => article(self.creates()),
            creates_version => owned.map_or_else(|| "v1".to_owned(), Target::api_version),
            api_version => target.api_version(),
            own => target.api.resource,
            domain => project.domain(),
            sample => target.sample(),
            body => indented(&target.body, 4),
        })
    }
}

/// Writes the files of a controller and adds it to the program, its tests and its demo.
pub(super) fn control(
    tree: &mut Tree,
    project: &Project,
    controller: &Controller,
) -> Result<(), Refused> {
    for (path, text) in &controller.files(tree, project) {
        tree.create(path, text)?;
    }
    let module = controller.module();
    list(
        tree,
        CONTROLLERS,
        "pub(crate) ",
        &module,
        &templates::CONTROLLERS.fill(context! {}),
    )?;
    tree.edit(LIBRARY, "add `mod controllers;`", |text| {
        rust::add_module(text, "", "controllers")
    });
    test(tree, &format!("{module}_controller"));
    add_with_needs(tree, |needs| controller.call(needs));
    lead(tree, project);
    if controller.owned.is_some() {
        tree.edit("Cargo.toml", "add the dependency serde_json", |text| {
            dependencies::add(text, &dependencies::FOR_JSON)
        });
    }
    sample(tree, &controller.target);
    let step = controller.step(project);
    tree.edit(DEMO, format!("add the step:\n{step}"), |text| {
        demo::add(text, &step)
    });
    Ok(())
}

/// Adds a call to the App that uses its parameter of the type `&mut Needs`.
pub(super) fn add_with_needs(tree: &mut Tree, call: impl Fn(&str) -> String) {
    let what = format!("add `{}` to the App", call("needs"));
    tree.edit(LIBRARY, what, |text| {
        let (text, needs) = rust::parameter(text, APP)?;
        rust::append(&text, APP, &call(&needs))
    });
}

/// Has one replica at a time run controllers and tasks of the leader, unless there is an election, whatever its name.
pub(super) fn lead(tree: &mut Tree, project: &Project) {
    if !tree
        .text(LIBRARY)
        .is_some_and(|text| text.contains(".leader_election("))
    {
        let call = election(project);
        tree.edit(LIBRARY, format!("add `{call}` to the App"), |text| {
            rust::append(text, APP, &call)
        });
    }
}

pub(super) fn election(project: &Project) -> String {
    format!(".leader_election(\"{}\")", project.name())
}

/// What an object needs besides its name, as the inside of a JSON object in Rust.
fn body(yaml: &str) -> String {
    let value: serde_json::Value = serde_saphyr::from_str(yaml).unwrap_or_default();
    let text = if value.is_object() {
        format!("{value:#}")
    } else {
        String::new()
    };
    let inside = text.trim_start_matches("{\n").trim_end_matches("\n}");
    let lines = inside.lines().map(|line| {
        let code = line.trim_start();
        // In the macro, one step deeper, with four spaces a step.
        let indent = 2 * (line.len() - code.len()) + 4;
        format!("{:indent$}{code}\n", "")
    });
    lines.collect()
}

/// The name of variables for objects of a kind.
fn variable(kind: &str) -> String {
    let name = kind.to_snake_case();
    if TAKEN.contains(&name.as_str()) {
        return "owned_object".to_owned();
    }
    name
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['A', 'E', 'I', 'O', 'U']) {
        "an"
    } else {
        "a"
    }
}

/// What the files of a controller call something else.
const TAKEN: [&str; 12] = [
    "after",
    "before",
    "cluster",
    "cx",
    "first",
    "found",
    "name",
    "object",
    "ready",
    "reconciler",
    "sample",
    "status",
];
