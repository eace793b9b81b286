//! What a program may do, as the rules of roles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::Manifests;

/// A permission of a program: verbs on a resource of a group.
///
/// ```
/// use kubewright_manifests::{Permissions, PolicyRule};
///
/// let mut permissions = Permissions::default();
/// permissions.grant(Some("blue"), PolicyRule::new("", "secrets", ["get"]).named("tls"));
/// let roles = permissions.manifests("reader");
/// let role = &roles.objects()[0];
/// assert_eq!(role["rules"][0]["resourceNames"][0], "tls");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct PolicyRule {
    group: String,
    resource: String,
    verbs: BTreeSet<String>,
    name: Option<String>,
}

/// Everything that a program may do: rules for the whole cluster, and rules for single namespaces.
///
/// It is kept in its shortest form: what is granted twice stands once, and what a wider rule grants does not stand in a
/// narrower one.
///
/// # Example: what two handles come to
///
/// ```
/// use kubewright_manifests::{Permissions, PolicyRule};
///
/// let mut permissions = Permissions::default();
/// permissions.grant(None, PolicyRule::new("", "pods", ["get", "list", "watch"]));
/// permissions.grant(Some("blue"), PolicyRule::new("", "pods", ["get", "delete"]));
/// assert_eq!(
///     permissions.manifests("cleaner").to_yaml(),
///     "\
/// apiVersion: rbac.authorization.k8s.io/v1
/// kind: ClusterRole
/// metadata:
///   name: cleaner
/// rules:
/// - apiGroups:
///   - \"\"
///   resources:
///   - pods
///   verbs:
///   - get
///   - list
///   - watch
/// ---
/// apiVersion: rbac.authorization.k8s.io/v1
/// kind: Role
/// metadata:
///   name: cleaner
///   namespace: blue
/// rules:
/// - apiGroups:
///   - \"\"
///   resources:
///   - pods
///   verbs:
///   - delete
/// "
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    granted: BTreeMap<Place, Grants>,
}

/// The scope of a grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Everywhere,
    /// The namespace of the program, which the user who installs it chooses.
    Own,
    Namespace(String),
}

type Verbs = BTreeSet<String>;
/// By group, resource and name.
type Grants = BTreeMap<(String, String, Option<String>), Verbs>;

impl PolicyRule {
    /// Allows verbs on a resource, such as `("apps", "deployments/scale", ["patch"])`. The core group is `""`.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(None, PolicyRule::new("apps", "deployments/scale", ["patch"]));
    /// let roles = permissions.manifests("scaler");
    /// let rule = &roles.objects()[0]["rules"][0];
    /// assert_eq!(rule["apiGroups"][0], "apps");
    /// assert_eq!(rule["resources"][0], "deployments/scale");
    /// ```
    pub fn new(
        group: impl Into<String>,
        resource: impl Into<String>,
        verbs: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
            verbs: verbs.into_iter().map(Into::into).collect(),
            name: None,
        }
    }

    /// Narrows it to the object with this name (`resourceNames`). `create` cannot be narrowed: the API server does not know the
    /// name when it authorizes the request.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(None, PolicyRule::new("", "namespaces", ["get"]).named("blue"));
    /// let roles = permissions.manifests("reader");
    /// assert_eq!(roles.objects()[0]["rules"][0]["resourceNames"][0], "blue");
    /// ```
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl Permissions {
    /// Adds a rule, for one namespace or, with `None`, for all.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(Some("blue"), PolicyRule::new("", "pods", ["get"]));
    /// let roles = permissions.manifests("reader");
    /// let role = &roles.objects()[0];
    /// assert_eq!(role["kind"], "Role");
    /// assert_eq!(role["metadata"]["namespace"], "blue");
    /// ```
    pub fn grant(&mut self, namespace: Option<&str>, rule: PolicyRule) {
        let place = namespace.map_or(Place::Everywhere, |name| Place::Namespace(name.to_owned()));
        self.grant_at(place, rule);
    }

    /// Adds a rule for the namespace in which the program runs. Its Role names no namespace: it belongs to the namespace that
    /// it is applied in.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant_in_own_namespace(PolicyRule::new("coordination.k8s.io", "leases", ["update"]));
    /// let roles = permissions.manifests("policy");
    /// let role = &roles.objects()[0];
    /// assert_eq!(role["kind"], "Role");
    /// assert!(role["metadata"].get("namespace").is_none());
    /// ```
    pub fn grant_in_own_namespace(&mut self, rule: PolicyRule) {
        self.grant_at(Place::Own, rule);
    }

    /// Adds all permissions of another set.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(None, PolicyRule::new("", "pods", ["get"]));
    /// let mut others = Permissions::default();
    /// others.grant(None, PolicyRule::new("", "pods", ["list"]));
    /// permissions.add(others);
    /// let verbs = permissions.manifests("reader").objects()[0]["rules"][0]["verbs"].clone();
    /// assert_eq!(verbs, serde_json::json!(["get", "list"]));
    /// ```
    pub fn add(&mut self, others: Self) {
        for (place, grants) in others.granted {
            let all = self.granted.entry(place).or_default();
            for (what, verbs) in grants {
                all.entry(what).or_default().extend(verbs);
            }
        }
    }

    fn grant_at(&mut self, place: Place, rule: PolicyRule) {
        let grants = self.granted.entry(place).or_default();
        grants
            .entry((rule.group, rule.resource, rule.name))
            .or_default()
            .extend(rule.verbs);
    }

    /// Returns whether nothing is granted.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// assert!(permissions.is_empty());
    /// permissions.grant(None, PolicyRule::new("", "pods", ["get"]));
    /// assert!(!permissions.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.granted
            .values()
            .flat_map(BTreeMap::values)
            .all(BTreeSet::is_empty)
    }

    /// Returns the roles: a ClusterRole for what is granted in all namespaces, and a Role for each single namespace. The Role
    /// for the program's own names no namespace.
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(None, PolicyRule::new("", "nodes", ["list"]));
    /// permissions.grant(Some("blue"), PolicyRule::new("", "pods", ["list"]));
    /// let roles = permissions.manifests("reader");
    /// let kinds: Vec<_> = roles.objects().iter().map(|role| &role["kind"]).collect();
    /// assert_eq!(kinds, ["ClusterRole", "Role"]);
    /// ```
    #[must_use]
    pub fn manifests(&self, name: &str) -> Manifests {
        let roles = self.granted.iter().filter_map(|(place, grants)| {
            let rules = rules(self.needed(place, grants));
            (!rules.is_empty()).then(|| match place {
                Place::Everywhere => role("ClusterRole", &json!({"name": name}), &rules),
                Place::Own => role("Role", &json!({"name": name}), &rules),
                Place::Namespace(namespace) => role(
                    "Role",
                    &json!({"name": name, "namespace": namespace}),
                    &rules,
                ),
            })
        });
        Manifests::new(roles.collect())
    }

    /// Writes the bindings that give the roles of this name to a service account.
    ///
    /// # Example: who has the roles
    ///
    /// ```
    /// use kubewright_manifests::{Permissions, PolicyRule};
    ///
    /// let mut permissions = Permissions::default();
    /// permissions.grant(Some("blue"), PolicyRule::new("", "pods", ["get"]));
    /// let bindings = permissions.bindings("cleaner", "tools", "robot");
    /// let binding = &bindings.objects()[0];
    /// assert_eq!(binding["kind"], "RoleBinding");
    /// assert_eq!(binding["metadata"]["namespace"], "blue");
    /// assert_eq!(binding["roleRef"]["name"], "cleaner");
    /// assert_eq!(binding["subjects"][0]["namespace"], "tools");
    /// ```
    #[must_use]
    pub fn bindings(&self, name: &str, namespace: &str, service_account: &str) -> Manifests {
        let roles = self.manifests(name).into_iter();
        let bindings = roles.map(|role| {
            let kind = role["kind"].as_str().unwrap_or_default();
            json!({
                "apiVersion": VERSION,
                "kind": format!("{kind}Binding"),
                "metadata": role["metadata"],
                "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
                "subjects": [{
                    "kind": "ServiceAccount", "namespace": namespace, "name": service_account,
                }],
            })
        });
        Manifests::new(bindings.collect())
    }

    /// What no wider rule grants already.
    fn needed(&self, place: &Place, grants: &Grants) -> Grants {
        let everywhere = self.granted.get(&Place::Everywhere);
        let mut needed = Grants::new();
        for ((group, resource, name), verbs) in grants {
            let any_name = (group.clone(), resource.clone(), None);
            let same_name = (group.clone(), resource.clone(), name.clone());
            let mut wider = Vec::new();
            if name.is_some() {
                wider.extend(grants.get(&any_name));
            }
            if *place != Place::Everywhere {
                wider.extend(everywhere.and_then(|grants| grants.get(&any_name)));
                wider.extend(everywhere.and_then(|grants| grants.get(&same_name)));
            }
            let left: Verbs = verbs
                .iter()
                .filter(|verb| !wider.iter().any(|wider| wider.contains(*verb)))
                .cloned()
                .collect();
            if !left.is_empty() {
                needed.insert(same_name, left);
            }
        }
        needed
    }
}

/// The rules, with resources that are granted the same put together.
fn rules(grants: Grants) -> Vec<Value> {
    let mut names: BTreeMap<(String, String, Verbs), BTreeSet<String>> = BTreeMap::new();
    for ((group, resource, name), verbs) in grants {
        // Names that are granted the same are one rule; a resource as a whole is another.
        if let Some(name) = name {
            names
                .entry((group, resource, verbs))
                .or_default()
                .insert(name);
        } else {
            names.entry((group, resource, verbs)).or_default();
        }
    }
    let mut resources: BTreeMap<(String, BTreeSet<String>, Verbs), BTreeSet<String>> =
        BTreeMap::new();
    for ((group, resource, verbs), names) in names {
        resources
            .entry((group, names, verbs))
            .or_default()
            .insert(resource);
    }
    resources
        .into_iter()
        .map(|((group, names, verbs), resources)| {
            let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
            if !names.is_empty() {
                rule["resourceNames"] = json!(names);
            }
            rule
        })
        .collect()
}

fn role(kind: &str, metadata: &Value, rules: &[Value]) -> Value {
    json!({
        "apiVersion": VERSION,
        "kind": kind,
        "metadata": metadata,
        "rules": rules,
    })
}

const GROUP: &str = "rbac.authorization.k8s.io";
const VERSION: &str = "rbac.authorization.k8s.io/v1";

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(grants: &[(Option<&str>, PolicyRule)]) -> Vec<Value> {
        let mut permissions = Permissions::default();
        for (namespace, rule) in grants {
            permissions.grant(*namespace, rule.clone());
        }
        let roles = permissions.manifests("a").into_iter();
        roles
            .map(|role| json!([role["metadata"]["namespace"], role["rules"]]))
            .collect()
    }

    fn pods(verbs: &[&str]) -> PolicyRule {
        PolicyRule::new("", "pods", verbs.iter().copied())
    }

    fn rule(resources: &[&str], verbs: &[&str]) -> Value {
        json!({"apiGroups": [""], "resources": resources, "verbs": verbs})
    }

    #[test]
    fn verbs_of_one_resource_are_put_together_and_sorted() {
        assert_eq!(
            rules_of(&[
                (None, pods(&["watch", "get"])),
                (None, pods(&["get", "list"]))
            ]),
            [json!([null, [rule(&["pods"], &["get", "list", "watch"])]])]
        );
    }

    #[test]
    fn resources_that_are_granted_the_same_share_a_rule() {
        let secrets = PolicyRule::new("", "secrets", ["get"]);
        let nodes = PolicyRule::new("", "nodes", ["list"]);
        assert_eq!(
            rules_of(&[(None, secrets), (None, pods(&["get"])), (None, nodes)]),
            [json!([
                null,
                [
                    rule(&["pods", "secrets"], &["get"]),
                    rule(&["nodes"], &["list"])
                ]
            ])]
        );
    }

    #[test]
    fn what_a_wider_rule_grants_stands_in_no_narrower_one() {
        assert_eq!(
            rules_of(&[
                (None, pods(&["get"])),
                (None, pods(&["get"]).named("web")),
                (Some("blue"), pods(&["get"])),
                (Some("blue"), pods(&["get", "delete"]).named("web")),
            ]),
            [
                json!([null, [rule(&["pods"], &["get"])]]),
                json!(["blue", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"],
                    "resourceNames": ["web"]}]]),
            ]
        );
    }

    #[test]
    fn names_that_are_granted_the_same_share_a_rule_and_not_with_the_whole() {
        assert_eq!(
            rules_of(&[
                (None, pods(&["create"])),
                (None, pods(&["get"]).named("b")),
                (None, pods(&["get"]).named("a")),
            ]),
            [json!([null, [
                rule(&["pods"], &["create"]),
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a", "b"]},
            ]])]
        );
    }

    #[test]
    fn nothing_is_no_role() {
        assert!(Permissions::default().is_empty());
        assert_eq!(rules_of(&[]), [Value::Null; 0]);
        assert_eq!(rules_of(&[(None, pods(&[]))]), [Value::Null; 0]);
    }

    #[test]
    fn a_role_for_the_programs_own_namespace_names_none() {
        let mut permissions = Permissions::default();
        let rule = || PolicyRule::new("", "configmaps", ["get", "update"]);
        permissions.grant(None, PolicyRule::new("", "configmaps", ["get"]));
        permissions.grant_in_own_namespace(rule());
        let roles = permissions.manifests("a");
        assert_eq!(roles.objects()[1]["metadata"], json!({"name": "a"}));
        assert_eq!(roles.objects()[1]["kind"], "Role");
        assert_eq!(roles.objects()[1]["rules"][0]["verbs"], json!(["update"]));
    }
}
