//! Kinds that other projects define: their definition, their type, and their place in the record.

use minijinja::context;

use super::definition::{Definition, Field};
use super::places::{TESTS, type_file};
use super::project::{Api, Project};
use super::target::Target;
use super::types::{declare, sample, undeclare};
use super::{Refused, Tree, dependencies, rust, templates};

/// Adds a kind that a definition describes to those that the project knows, unless it does.
pub(super) fn adopt(
    tree: &mut Tree,
    project: &mut Project,
    definition: &Definition,
    wanted: Option<&str>,
) -> Result<(), Refused> {
    let Definition {
        group,
        version,
        kind,
        ..
    } = definition;
    if let Some(wanted) = wanted.filter(|wanted| wanted != group) {
        return Err(Refused::new(format!(
            "the file defines {kind} of {group}, and not of {wanted}"
        )));
    }
    let mut apis = project.apis().into_iter();
    let known =
        apis.find(|api| api.definition.is_some() && (&api.group, &api.kind) == (group, kind));
    if let Some(known) = known {
        if known.version == *version {
            return Ok(());
        }
        return Err(Refused::new(format!(
            "{kind} of {group} is known in {} already",
            known.version
        ))
        .hint("one version is enough: the API server converts"));
    }
    let own = group.strip_suffix(project.domain());
    if own.is_some_and(|own| own.ends_with('.')) {
        return Err(Refused::new(format!("{group} is a group of this project"))
            .hint("make the kind with `kubewright create api`"));
    }
    let api = Api {
        group: group.clone(),
        version: version.clone(),
        kind: kind.clone(),
        plural: definition.plural.clone(),
        namespaced: definition.namespaced,
        resource: false,
        controller: false,
        definition: Some(definition.path()),
    };
    tree.create(&definition.path(), definition.document())?;
    project.record_api(&api);
    project.look_up(tree);
    let target = project.target(api);
    sample(tree, &target);
    tree.create(&type_file(&target), &type_text(definition))?;
    declare(tree, &target)?;
    tree.edit(
        "Cargo.toml",
        "add the dependencies kube, serde and serde_json",
        |text| dependencies::add(text, &dependencies::FOR_EXTERNAL_KINDS),
    );
    tree.edit(TESTS, format!("add `{INSTALL}` to the cluster"), |text| {
        rust::prepend(text, CLUSTER, INSTALL)
    });
    Ok(())
}

/// Takes a kind away that nothing is made for any more.
pub(super) fn forget(
    tree: &mut Tree,
    project: &Project,
    target: &Target,
    force: bool,
) -> Result<(), Refused> {
    let Some(path) = &target.api.definition else {
        return Ok(());
    };
    let made = tree.text(path).map(str::to_owned).unwrap_or_default();
    let made = Definition::find(&made, &target.api.kind, Some(&target.api.version));
    let made = made.map(|definition| type_text(&definition));
    tree.remove(&type_file(target), &made.unwrap_or_default(), force)?;
    tree.remove(path, "", true)?;
    tree.remove(&target.sample(), "", true)?;
    undeclare(tree, target);
    let mut left = project.apis().into_iter();
    if !left.any(|api| api.definition.is_some() && api != target.api) {
        tree.edit(TESTS, format!("take `{INSTALL}` away"), |text| {
            rust::remove(text, CLUSTER, INSTALL)
        });
    }
    Ok(())
}

fn type_text(definition: &Definition) -> String {
    let fields = definition.fields();
    let uses = |word: &str| fields.iter().any(|field| field.r#type.contains(word));
    let values: Vec<_> = fields
        .iter()
        .map(
            |Field {
                 name,
                 rename,
                 r#type,
                 required,
                 about,
             }| {
                // It stands between quotes.
                let rename = rename
                    .as_ref()
                    .map(|name| name.escape_default().to_string());
                context! { name, rename, type => r#type, required, about }
            },
        )
        .collect();
    templates::EXTERNAL.fill(context! {
        group => definition.group.as_str(),
        version => definition.version.as_str(),
        kind => definition.kind.as_str(),
        plural => definition.plural.as_str(),
        namespaced => definition.namespaced,
        definition => definition.path(),
        maps => uses("BTreeMap"),
        values => uses("Value"),
        fields => values,
    })
}

/// Where the tests start their cluster, and what has the definitions of others in it.
const CLUSTER: &str = "TestCluster::builder";
const INSTALL: &str = ".definitions(\"crds\")";
