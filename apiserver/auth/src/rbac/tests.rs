//! Decisions on roles and bindings that come and go.

use kubewright_storage::{Draft, Limits, Store};
use serde_json::{Value, json};

use super::*;
use crate::About;

/// A server's roles and bindings, and who asks them.
struct Cluster {
    store: Arc<Store>,
    rbac: Rbac,
}

impl Cluster {
    fn new() -> Self {
        Self::with(Limits::default())
    }

    fn with(limits: Limits) -> Self {
        let store = Arc::new(Store::new(limits));
        let rbac = Rbac::new(store.clone());
        Self { store, rbac }
    }

    /// Creates or replaces an RBAC object.
    fn put(&self, resource: &str, path: &str, object: &Value) {
        let table = format!("{resource}.{GROUP}");
        let draft = Draft::new(object);
        let written = match self.store.get(&table, path) {
            None => self.store.create(&table, path, draft),
            Some(old) => self.store.replace(&table, path, old.revision, draft),
        };
        written.expect("no concurrent writes");
    }

    fn remove(&self, resource: &str, path: &str) {
        let table = format!("{resource}.{GROUP}");
        let old = self.store.get(&table, path).expect("the object exists");
        let last = Draft::new(&old.value());
        let removed = self.store.delete(&table, path, old.revision, last);
        removed.expect("no concurrent writes");
    }

    fn decide(&self, user: &User, verb: &str, namespace: &str) -> Decision {
        self.rbac.decide(&Question {
            user,
            verb,
            about: About::Resource {
                group: "",
                resource: "pods",
                subresource: "",
                namespace,
                name: "",
                fields: None,
            },
        })
    }

    fn allows(&self, user: &User, verb: &str, namespace: &str) -> bool {
        matches!(self.decide(user, verb, namespace), Decision::Allow(_))
    }
}

fn user(name: &str, groups: &[&str]) -> User {
    User {
        username: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..User::default()
    }
}

/// A role for pods.
fn role(verbs: &[&str]) -> Value {
    json!({"metadata": {}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]})
}

fn binding(kind: &str, role: &str, subjects: &Value) -> Value {
    json!({"metadata": {}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": subjects})
}

#[test]
fn nobody_may_do_anything_without_a_binding() {
    let cluster = Cluster::new();
    for group in ["system:authenticated", "system:masters"] {
        let user = user("jane", &[group]);
        assert!(!cluster.allows(&user, "get", "blue"), "{group}");
        assert!(cluster.rbac.rules(&user, "blue").told.is_empty());
    }
}

#[test]
fn a_binding_is_about_users_groups_and_service_accounts() {
    let cluster = Cluster::new();
    cluster.put("clusterroles", "reader", &role(&["get"]));
    let subjects = json!([
        {"kind": "User", "name": "jane"},
        {"kind": "Group", "name": "dev"},
        {"kind": "ServiceAccount", "name": "robot"},
        {"kind": "ServiceAccount", "namespace": "red", "name": "robot"},
    ]);
    let bound = binding("ClusterRole", "reader", &subjects);
    cluster.put("rolebindings", "blue/readers", &bound);
    for (who, allowed) in [
        (user("jane", &[]), true),
        (user("joe", &["ops", "dev"]), true),
        (user("dev", &["jane"]), false),
        (user("system:serviceaccount:blue:robot", &[]), true),
        (user("system:serviceaccount:red:robot", &[]), true),
        (user("system:serviceaccount:green:robot", &[]), false),
        (user("robot", &[]), false),
    ] {
        assert_eq!(cluster.allows(&who, "get", "blue"), allowed, "{who:?}");
        assert!(!cluster.allows(&who, "get", "red"), "{who:?}");
        assert!(!cluster.allows(&who, "get", ""), "{who:?}");
    }
}

#[test]
fn a_service_account_without_a_namespace_is_nobody_in_the_whole_cluster() {
    let cluster = Cluster::new();
    cluster.put("clusterroles", "reader", &role(&["get"]));
    let subjects = json!([{"kind": "ServiceAccount", "name": "robot"}]);
    let bound = binding("ClusterRole", "reader", &subjects);
    cluster.put("clusterrolebindings", "readers", &bound);
    assert!(!cluster.allows(&user("system:serviceaccount::robot", &[]), "get", ""));
}

#[test]
fn what_is_written_counts_at_once() {
    let cluster = Cluster::new();
    let jane = user("jane", &["dev"]);
    let subjects = json!([{"kind": "User", "name": "jane"}, {"kind": "Group", "name": "dev"}]);
    let bound = binding("Role", "reader", &subjects);
    cluster.put("rolebindings", "blue/readers", &bound);
    assert!(!cluster.allows(&jane, "get", "blue"));
    cluster.put("roles", "blue/reader", &role(&["get"]));
    assert!(cluster.allows(&jane, "get", "blue"));
    cluster.put("roles", "blue/reader", &role(&["list"]));
    assert!(!cluster.allows(&jane, "get", "blue"));
    assert!(cluster.allows(&jane, "list", "blue"));
    let others = binding("Role", "reader", &json!([{"kind": "User", "name": "joe"}]));
    cluster.put("rolebindings", "blue/readers", &others);
    assert!(!cluster.allows(&jane, "list", "blue"));
    cluster.put("rolebindings", "blue/readers", &bound);
    cluster.remove("roles", "blue/reader");
    assert!(!cluster.allows(&jane, "list", "blue"));
    cluster.put("roles", "blue/reader", &role(&["list"]));
    cluster.remove("rolebindings", "blue/readers");
    assert!(!cluster.allows(&jane, "list", "blue"));
}

#[test]
fn changes_that_the_log_has_forgotten_are_found_in_the_store() {
    let cluster = Cluster::with(Limits {
        events: 1,
        bytes: 1 << 20,
    });
    let jane = user("jane", &[]);
    let subjects = json!([{"kind": "User", "name": "jane"}]);
    for name in ["a", "b", "c"] {
        cluster.put("clusterroles", name, &role(&[name]));
        let bound = binding("ClusterRole", name, &subjects);
        cluster.put("clusterrolebindings", name, &bound);
        cluster.put("rolebindings", &format!("blue/{name}"), &bound);
    }
    for verb in ["a", "b", "c"] {
        assert!(cluster.allows(&jane, verb, ""), "{verb}");
    }
    for resource in ["clusterroles", "clusterrolebindings"] {
        for name in ["a", "b"] {
            cluster.remove(resource, name);
        }
    }
    let allowed = ["a", "b", "c"].map(|verb| cluster.allows(&jane, verb, "blue"));
    assert_eq!(allowed, [false, false, true]);
}

#[test]
fn a_decision_says_what_allows_it() {
    let cluster = Cluster::new();
    cluster.put("clusterroles", "reader", &role(&["get"]));
    cluster.put("roles", "blue/lister", &role(&["list"]));
    let subjects = json!([{"kind": "User", "name": "joe"}, {"kind": "Group", "name": "dev"}]);
    let bound = binding("ClusterRole", "reader", &subjects);
    cluster.put("clusterrolebindings", "readers", &bound);
    let robots = json!([{"kind": "ServiceAccount", "name": "robot"}]);
    let bound = binding("Role", "lister", &robots);
    cluster.put("rolebindings", "blue/robots", &bound);
    let because = |text: &str| Decision::Allow(format!("RBAC: allowed by {text}"));
    assert_eq!(
        cluster.decide(&user("jane", &["dev"]), "get", "blue"),
        because("ClusterRoleBinding \"readers\" of ClusterRole \"reader\" to Group \"dev\""),
    );
    assert_eq!(
        cluster.decide(
            &user("system:serviceaccount:blue:robot", &[]),
            "list",
            "blue"
        ),
        because("RoleBinding \"robots/blue\" of Role \"lister\" to ServiceAccount \"robot/blue\""),
    );
}

#[test]
fn roles_that_do_not_exist_are_named_once_each_unless_something_allows() {
    let cluster = Cluster::new();
    let jane = user("jane", &[]);
    let subjects = json!([{"kind": "User", "name": "jane"}]);
    for name in ["a", "b"] {
        let bound = binding("ClusterRole", "gone", &subjects);
        cluster.put("clusterrolebindings", name, &bound);
    }
    let one = "clusterrole.rbac.authorization.k8s.io \"gone\" not found";
    let refused = |text: &str| Decision::NoOpinion(format!("RBAC: {text}"));
    assert_eq!(cluster.decide(&jane, "get", "blue"), refused(one));
    let bound = binding("Role", "lost", &subjects);
    cluster.put("rolebindings", "blue/c", &bound);
    let both = format!("[{one}, role.rbac.authorization.k8s.io \"lost\" not found]");
    assert_eq!(cluster.decide(&jane, "get", "blue"), refused(&both));
    cluster.put("clusterroles", "reader", &role(&["get"]));
    let bound = binding("ClusterRole", "reader", &subjects);
    cluster.put("clusterrolebindings", "z", &bound);
    assert!(cluster.allows(&jane, "get", "blue"));
}

#[test]
fn a_user_who_is_named_twice_has_a_rule_once() {
    let cluster = Cluster::new();
    cluster.put("clusterroles", "reader", &role(&["get"]));
    let subjects = json!([{"kind": "User", "name": "jane"}, {"kind": "Group", "name": "dev"}]);
    let bound = binding("ClusterRole", "reader", &subjects);
    cluster.put("clusterrolebindings", "readers", &bound);
    let found = cluster.rbac.rules(&user("jane", &["dev"]), "");
    assert_eq!(found.told.len(), 1);
}
