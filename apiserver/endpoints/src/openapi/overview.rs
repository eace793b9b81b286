//! The documents of what has no resources: the versions, the groups, and what the server is.

use std::sync::Arc;

use kubewright_registry::{Group, Registry, Resource};
use serde_json::{Map, Value, json};

use super::names::identifier;
use super::operation::{Operation, path_item, plain};
use super::schemas::Components;

const OPENID_CONFIGURATION: &str = ".well-known/openid-configuration";

/// Groups of definitions are described version by version alone.
fn has_document(group: &Group) -> bool {
    let mut resources = group.versions.iter().flat_map(|version| &version.resources);
    let is_custom = |resource: &Arc<Resource>| resource.strategy.is_unstructured();
    !group.name.is_empty() && !resources.any(is_custom)
}

/// The places of these documents.
pub(super) fn places(registry: &Registry) -> impl Iterator<Item = String> {
    let groups = registry.groups().iter().filter(|group| has_document(group));
    let named = groups.map(|group| group.name.as_str());
    let fixed = [
        OPENID_CONFIGURATION,
        "api",
        "apis",
        "openid/v1/jwks",
        "version",
    ];
    let fixed = fixed.map(str::to_owned);
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
        ["apis", group] if registry.group(group).is_some_and(has_document) => {
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
        [".well-known", "openid-configuration"] => Operation {
            id: "getServiceAccountIssuerOpenIDConfiguration".to_owned(),
            tag: "WellKnown".to_owned(),
            description: "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'".to_owned(),
            answer: json!({ "type": "string" }),
            forms: &["application/json"],
            ..plain()
        },
        ["openid", "v1", "jwks"] => Operation {
            id: "getServiceAccountIssuerOpenIDKeyset".to_owned(),
            tag: "openid".to_owned(),
            description: "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)".to_owned(),
            answer: json!({ "type": "string" }),
            forms: &["application/jwk-set+json"],
            ..plain()
        },
        _ => return None,
    };
    let mut paths = Map::new();
    paths.insert(format!("/{}/", place.join("/")), path_item(vec![operation]));
    Some(paths.into())
}
