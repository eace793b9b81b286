//! Reads the table of built-in resources.

use std::sync::Arc;

use kubewright_apimachinery::meta::GroupVersionKind;

use super::group::{Group, GroupVersion, Strategies, Versions};
use crate::groups;
use crate::resource::{Resource, Subresource, Verb};

const TABLE: &str = include_str!("resources.txt");

const ALL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";

pub(super) fn builtin(versions: Versions, strategies: Strategies) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut wanted = false;
    for line in lines() {
        if let Some((group, version, off)) = heading(line) {
            wanted = versions == Versions::All || !off;
            if !wanted {
                continue;
            }
            if groups.last().is_none_or(|last| last.name != group) {
                groups.push(Group {
                    name: group.to_owned(),
                    versions: Vec::new(),
                });
            }
            let group = groups.last_mut().expect("a group was just pushed");
            group.versions.push(GroupVersion {
                version: version.to_owned(),
                resources: Vec::new(),
            });
        } else if wanted {
            let group = groups.last_mut().expect("a heading opens the table");
            let resource = resource(line, group, strategies);
            let version = group.versions.last_mut().expect("a heading has a version");
            version.resources.push(Arc::new(resource));
        }
    }
    groups
}

/// The names of the built-in groups, those too that are off by default.
pub(super) fn group_names() -> Vec<&'static str> {
    lines()
        .filter_map(heading)
        .map(|(group, ..)| group)
        .collect()
}

fn lines() -> impl Iterator<Item = &'static str> {
    TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn heading(line: &'static str) -> Option<(&'static str, &'static str, bool)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (group, version) = group_version(name);
    Some((group, version, rest.trim() == "off"))
}

fn resource(line: &str, group: &Group, strategies: Strategies) -> Resource {
    let mut words = line.split_whitespace();
    let mut word = || words.next().expect("a resource has plural, kind and scope");
    let (plural, kind, scope) = (word(), word(), word());
    let version = &group
        .versions
        .last()
        .expect("a heading has a version")
        .version;
    let first = group
        .versions
        .iter()
        .find(|version| version.resources.iter().any(|other| other.plural == plural));
    let stored = first.map_or(version, |first| &first.version);
    let mut resource = Resource {
        group: group.name.clone(),
        version: version.clone(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: scope == "namespaced",
        verbs: verbs(ALL_VERBS),
        subresources: Vec::new(),
        storage: (group.name.clone(), stored.clone()),
        list_kind: format!("{kind}List"),
        strategy: groups::unspecific(&group.name, kind, scope == "namespaced", false),
    };
    for word in words {
        if let Some(subresource) = word.strip_prefix('+') {
            let subresource = self::subresource(subresource, &resource);
            resource.subresources.push(subresource);
            continue;
        }
        let (what, list) = word.split_once('=').expect("an option is name=value");
        match what {
            "verbs" => resource.verbs = verbs(list),
            "short" => resource.short_names = list.split(',').map(str::to_owned).collect(),
            "in" => resource.categories = list.split(',').map(str::to_owned).collect(),
            "stored" => {
                let (group, version) = group_version(list);
                resource.storage = (group.to_owned(), version.to_owned());
            }
            _ => unreachable!("the table knows no option {what}"),
        }
    }
    resource.strategy = strategies(&group.name, kind)
        .or_else(|| groups::strategy(&group.name, version, kind))
        .unwrap_or_else(|| {
            let has_status = resource.subresource("status").is_some();
            groups::unspecific(&group.name, kind, resource.namespaced, has_status)
        });
    resource
}

fn subresource(text: &str, resource: &Resource) -> Subresource {
    let (text, listed) = text.split_once('=').unwrap_or((text, "get,patch,update"));
    let (name, kind) = text.split_once(':').unwrap_or((text, &resource.kind));
    let (group, version, kind) = match kind.rsplit_once('/') {
        Some((api_version, kind)) => {
            let (group, version) = group_version(api_version);
            (group, version, kind)
        }
        None => (&*resource.group, &*resource.version, kind),
    };
    Subresource {
        name: name.to_owned(),
        kind: GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        },
        verbs: verbs(listed),
    }
}

fn group_version(text: &str) -> (&str, &str) {
    text.split_once('/').unwrap_or(("", text))
}

fn verbs(list: &str) -> Vec<Verb> {
    let verb = |word| match word {
        "create" => Verb::Create,
        "delete" => Verb::Delete,
        "deletecollection" => Verb::DeleteCollection,
        "get" => Verb::Get,
        "list" => Verb::List,
        "patch" => Verb::Patch,
        "update" => Verb::Update,
        "watch" => Verb::Watch,
        _ => unreachable!("the table knows no verb {word}"),
    };
    list.split(',').map(verb).collect()
}
