//! `kubewright create policy`: rules in CEL, which API servers evaluate themselves.

use minijinja::{Value, context};

use super::definition::Definition;
use super::lists::{list, test};
use super::named::{KindName, NamedPolicy};
use super::places::{LIBRARY, POLICIES};
use super::project::Project;
use super::target::Target;
use super::tree::Existing;
use super::types::sample;
use super::webhook::{ROOT, WEBHOOKS, list_webhooks};
use super::{Group, Kind, Name, Refused, Tree, Version, dependencies, external, rust, templates};

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewPolicy {
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) group: Option<Group>,
    pub(crate) version: Option<Version>,
    /// Definitions of another project, with that of the kind.
    pub(crate) definition: Option<String>,
    /// Whether existing files are overwritten.
    pub(crate) force: bool,
}

/// Makes a policy.
pub(crate) fn create(tree: &mut Tree, new: &NewPolicy) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    tree.on_existing(Existing::by_force(new.force));
    let group = new.group.as_ref().map(AsRef::as_ref);
    let version = new.version.as_ref().map(AsRef::as_ref);
    if let Some(text) = &new.definition {
        let definition = Definition::find(text, new.kind.as_ref(), version)?;
        external::adopt(tree, &mut project, &definition, group)?;
    }
    let target = project.find(new.kind.as_ref(), group, version)?;
    let policy = NamedPolicy {
        name: new.name.as_ref().to_owned(),
        of: KindName::of(&target.api),
    };
    let mut others = project.policies().into_iter();
    if let Some(known) = others.find(|known| known.name == policy.name) {
        if known.of != policy.of {
            return Err(Refused::new(format!(
                "there is a policy {} already, for the kind {}",
                known.name, known.of.kind
            ))
            .hint("choose another name"));
        }
        if !new.force {
            return Ok(());
        }
    }
    project.record_api(&target.api);
    for (path, text) in files(&project, &target, &policy) {
        tree.create(&path, &text)?;
    }
    let module = policy.module();
    list(
        tree,
        POLICIES,
        "pub ",
        &module,
        &templates::POLICIES.fill(context! {}),
    )?;
    tree.edit(LIBRARY, "add `pub mod policies;`", |text| {
        rust::add_module(text, "pub ", "policies")
    });
    tree.edit(
        "Cargo.toml",
        "add the feature `policies` to the dependency `kubewright`",
        dependencies::for_policies,
    );
    tree.edit("Cargo.toml", "add the dependency serde_json", |text| {
        dependencies::add(text, &dependencies::FOR_JSON)
    });
    if tree.text(WEBHOOKS).is_none() {
        let text = templates::WEBHOOKS.fill(context! { domain => project.domain() });
        tree.create(WEBHOOKS, &text)?;
    }
    list_webhooks(tree);
    let call = call(&policy);
    tree.edit(WEBHOOKS, format!("add `{call}` to the Webhooks"), |text| {
        rust::append(text, ROOT, &call)
    });
    test(tree, &format!("{module}_policy"));
    sample(tree, &target);
    project.record_policy(&policy);
    project.save(tree);
    Ok(())
}

/// The call that adds a policy to the webhooks.
pub(super) fn call(policy: &NamedPolicy) -> String {
    format!(".with(crate::policies::{}::policy())", policy.module())
}

/// The files of a policy, with their text.
pub(super) fn files(
    project: &Project,
    target: &Target,
    policy: &NamedPolicy,
) -> [(String, String); 2] {
    let module = policy.module();
    let values: Value = context! {
        name => policy.name.as_str(),
        module => module.as_str(),
        kind => target.api.kind.as_str(),
        many => super::names::plural(&target.api.kind),
        path => target.in_library(),
        test_path => target.in_tests(&project.library()),
        local => target.is_local(),
        own => target.api.resource,
        external => target.api.definition.is_some(),
        domain => project.domain(),
        library => project.library(),
        sample => target.sample(),
    };
    [
        (
            format!("src/policies/{module}.rs"),
            templates::POLICY.fill(values.clone()),
        ),
        (
            format!("tests/all/{module}_policy.rs"),
            templates::POLICY_TEST.fill(values),
        ),
    ]
}
