//! The roles and bindings of a server, indexed by subject.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::view::View as _;
use kubewright_storage::Object;
use serde_json::Value;

use super::super::derived::Derived;
use super::rule::Rule;

const ROLES: &str = "roles.rbac.authorization.k8s.io";
const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
const BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";
const CLUSTER_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

/// All roles and bindings.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// By path: `<namespace>/<name>` of a Role, `<name>` of a ClusterRole.
    roles: HashMap<String, Arc<[Rule]>>,
    /// By namespace; empty for ClusterRoleBindings.
    bindings: HashMap<String, Bindings>,
}

/// The bindings of one namespace, in the order of their names.
#[derive(Debug, Default)]
struct Bindings {
    all: BTreeMap<String, Arc<Binding>>,
    users: HashMap<String, BTreeMap<String, Arc<Binding>>>,
    groups: HashMap<String, BTreeMap<String, Arc<Binding>>>,
}

/// A RoleBinding or ClusterRoleBinding.
#[derive(Debug)]
pub(super) struct Binding {
    namespace: String,
    name: String,
    role: RoleReference,
    subjects: Vec<Subject>,
}

/// The role that a binding grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleReference {
    kind: String,
    name: String,
}

#[derive(Debug)]
struct Subject {
    who: Who,
    /// The subject as the reason of a decision shows it.
    shown: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Who {
    User(String),
    Group(String),
}

/// A rule that applies to a user, or a role that a binding names and that does not exist.
pub(super) enum Found<'a> {
    Rule(&'a Binding, &'a Rule),
    Missing(&'a RoleReference),
}

impl Derived for Policy {
    const TABLES: &'static [&'static str] = &[ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS];

    fn put(&mut self, table: &'static str, object: &Object) {
        self.remove(table, &object.path);
        if matches!(table, ROLES | CLUSTER_ROLES) {
            let rules = Rule::all_of(&object.value()).into();
            self.roles.insert(object.path.clone(), rules);
        } else {
            let (namespace, name) = namespace_and_name(&object.path);
            let bindings = self.bindings.entry(namespace.to_owned()).or_default();
            bindings.insert(Binding::of(namespace, name, &object.value()));
        }
    }

    fn remove(&mut self, table: &'static str, path: &str) {
        if matches!(table, ROLES | CLUSTER_ROLES) {
            self.roles.remove(path);
            return;
        }
        let (namespace, name) = namespace_and_name(path);
        if let Some(bindings) = self.bindings.get_mut(namespace) {
            bindings.remove(name);
            if bindings.all.is_empty() {
                self.bindings.remove(namespace);
            }
        }
    }
}

impl Policy {
    /// Everything that holds for a user in a namespace (an empty one: in the cluster as a whole), first what holds
    /// everywhere.
    pub(super) fn of<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = Found<'a>> {
        let everywhere = self.bindings.get("");
        let there = self
            .bindings
            .get(namespace)
            .filter(|_| !namespace.is_empty());
        let bindings = everywhere.into_iter().chain(there);
        let bindings = bindings.flat_map(move |bindings| bindings.of(user));
        bindings.flat_map(|binding| {
            let rules = self.rules_of(&binding.role, &binding.namespace);
            let missing = rules.is_none().then_some(Found::Missing(&binding.role));
            let rules = rules.unwrap_or_default().iter();
            let rules = rules.map(move |rule| Found::Rule(binding, rule));
            missing.into_iter().chain(rules)
        })
    }

    fn rules_of(&self, role: &RoleReference, namespace: &str) -> Option<&[Rule]> {
        let path = role.path(namespace)?;
        self.roles.get(&path).map(AsRef::as_ref)
    }
}

/// A path without a slash has no namespace.
fn namespace_and_name(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or(("", path))
}

impl Bindings {
    fn insert(&mut self, binding: Binding) {
        let binding = Arc::new(binding);
        let name = &binding.name;
        for subject in &binding.subjects {
            let (index, who) = match &subject.who {
                Who::User(user) => (&mut self.users, user),
                Who::Group(group) => (&mut self.groups, group),
            };
            let of_subject = index.entry(who.clone()).or_default();
            of_subject.insert(name.clone(), binding.clone());
        }
        self.all.insert(name.clone(), binding);
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.all.remove(name) else {
            return;
        };
        for subject in &binding.subjects {
            let (index, who) = match &subject.who {
                Who::User(user) => (&mut self.users, user),
                Who::Group(group) => (&mut self.groups, group),
            };
            if let Some(of_subject) = index.get_mut(who) {
                of_subject.remove(name);
                if of_subject.is_empty() {
                    index.remove(who);
                }
            }
        }
    }

    /// The bindings that are about a user, each once and in the order of their names.
    fn of(&self, user: &User) -> impl Iterator<Item = &Binding> {
        let own = self.users.get(&user.username);
        let groups = user
            .groups
            .iter()
            .filter_map(|group| self.groups.get(group));
        let mut found: Vec<&Binding> = own
            .into_iter()
            .chain(groups)
            .flat_map(BTreeMap::values)
            .map(AsRef::as_ref)
            .collect();
        found.sort_unstable_by_key(|binding| binding.name.as_str());
        found.dedup_by_key(|binding| binding.name.as_str());
        found.into_iter()
    }
}

impl Binding {
    fn of(namespace: &str, name: &str, object: &Value) -> Self {
        let subjects = object.list("subjects").iter();
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role: RoleReference::of(object),
            subjects: subjects
                .filter_map(|subject| Subject::of(subject, namespace))
                .collect(),
        }
    }

    /// Why its rules hold for a user, as the reason of a decision says it.
    pub(super) fn because(&self, user: &User) -> String {
        let subject = self.subjects.iter().find(|subject| match &subject.who {
            Who::User(name) => *name == user.username,
            Who::Group(name) => user.groups.contains(name),
        });
        let subject = subject.map_or("", |subject| &subject.shown);
        let RoleReference { kind, name: role } = &self.role;
        let role = quoted(role);
        if self.namespace.is_empty() {
            let name = quoted(&self.name);
            return format!("ClusterRoleBinding {name} of {kind} {role} to {subject}");
        }
        let name = quoted(&format!("{}/{}", self.name, self.namespace));
        format!("RoleBinding {name} of {kind} {role} to {subject}")
    }
}

impl Subject {
    /// Reads a subject of a binding; `None` for an unknown kind or a service account without a namespace.
    fn of(subject: &Value, namespace: &str) -> Option<Self> {
        let (kind, name) = (subject.text("kind"), subject.text("name"));
        let who = match kind {
            "User" => Who::User(name.to_owned()),
            "Group" => Who::Group(name.to_owned()),
            "ServiceAccount" => {
                let namespace = match subject.text("namespace") {
                    "" => namespace,
                    said => said,
                };
                if namespace.is_empty() {
                    return None;
                }
                return Some(Self {
                    who: Who::User(format!("system:serviceaccount:{namespace}:{name}")),
                    shown: format!("{kind} {}", quoted(&format!("{name}/{namespace}"))),
                });
            }
            _ => return None,
        };
        Some(Self {
            who,
            shown: format!("{kind} {}", quoted(name)),
        })
    }
}

impl RoleReference {
    /// The role that a binding names.
    pub(super) fn of(binding: &Value) -> Self {
        let role = binding.at("roleRef");
        Self {
            kind: role.text("kind").to_owned(),
            name: role.text("name").to_owned(),
        }
    }

    /// The name under which caches know the resource of the role.
    pub fn singular(&self) -> &'static str {
        if self.kind == "Role" {
            "role"
        } else {
            "clusterrole"
        }
    }

    /// The resource of the role; none if a binding cannot name it.
    pub(super) fn plural(&self) -> Option<&'static str> {
        match self.kind.as_str() {
            "Role" => Some("roles"),
            "ClusterRole" => Some("clusterroles"),
            _ => None,
        }
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where the store has it, if a binding of this namespace names it and can.
    pub(super) fn path(&self, namespace: &str) -> Option<String> {
        match self.kind.as_str() {
            "Role" => Some(format!("{namespace}/{}", self.name)),
            "ClusterRole" => Some(self.name.clone()),
            _ => None,
        }
    }
}
