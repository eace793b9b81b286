//! The documents of what has no resources: the versions, the groups, and what the server is.

use kubewright_registry::Registry;
use serde_json::{Map, Value};

use super::names::identifier;
use super::operation::plain;
use super::operation::{Operation, path_item};
use super::schemas::Components;

/// The places of these documents.
pub(super) fn places(registry: &Registry) -> impl Iterator<Item = String> {
    let groups = registry.groups().iter().map(|group| group.name.as_str());
    let named = groups.filter(|name| !name.is_empty());
    let fixed = ["api", "apis", "version"].map(str::to_owned);
    fixed
        .into_iter()
        .chain(named.map(|name| format!("apis/{name}")))
}

/// The paths of one of them; none if there is no such place.
pub(super) fn of(
    registry: &Registry,
    place: &[&str],
    components: &mut Components,
) -> Option<Value> {
    let mut named = |name: &str| components.named(name);
    let meta = |kind: &str| format!("apimachinery.pkg.apis.meta.v1.{kind}");
    let operation = match place {
        ["api"] => Operation {
            id: "getCoreAPIVersions".to_owned(),
            tag: "core".to_owned(),
            description: "get available API versions".to_owned(),
            answer: named(&meta("APIVersions")),
            ..plain()
        },
        ["apis"] => Operation {
            id: "getAPIVersions".to_owned(),
            tag: "apis".to_owned(),
            description: "get available API versions".to_owned(),
            answer: named(&meta("APIGroupList")),
            ..plain()
        },
        ["apis", group] if !group.is_empty() && registry.group(group).is_some() => {
            let name = group.trim_end_matches(".k8s.io");
            Operation {
                id: format!("get{}APIGroup", identifier(name, true)),
                tag: identifier(name, false),
                description: "get information of a group".to_owned(),
                answer: named(&meta("APIGroup")),
                ..plain()
            }
        }
        ["version"] => Operation {
            id: "getCodeVersion".to_owned(),
            tag: "version".to_owned(),
            description: "get the version information for this server".to_owned(),
            answer: named("apimachinery.pkg.version.Info"),
            forms: &["application/json"],
            ..plain()
        },
        _ => return None,
    };
    let mut paths = Map::new();
    paths.insert(format!("/{}/", place.join("/")), path_item(vec![operation]));
    Some(paths.into())
}
