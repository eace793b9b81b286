//! The rules of a webhook or a policy: operations, groups, versions, resources, scope and names (A.5).

use serde_json::Value;

use crate::attributes::Operation;

/// One rule of a webhook or a policy.
#[derive(Debug)]
pub(super) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<(String, String)>,
    scope: Scope,
    /// Those of policies; all objects if empty.
    names: Vec<String>,
}

#[derive(Debug)]
enum Scope {
    All,
    Cluster,
    Namespaced,
}

/// What a rule is held against: the request, or the request seen as an equivalent resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) operation: Operation,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) resource: &'a str,
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl Rule {
    pub(super) fn from_object(rule: &Value) -> Self {
        let resources = strings(&rule["resources"]);
        Self {
            operations: strings(&rule["operations"]),
            groups: strings(&rule["apiGroups"]),
            versions: strings(&rule["apiVersions"]),
            resources: resources.iter().map(|entry| split(entry)).collect(),
            scope: match rule["scope"].as_str() {
                Some("Cluster") => Scope::Cluster,
                Some("Namespaced") => Scope::Namespaced,
                _ => Scope::All,
            },
            names: strings(&rule["resourceNames"]),
        }
    }

    pub(super) fn matches(&self, target: &Target<'_>) -> bool {
        self.in_scope(target)
            && holds(&self.operations, target.operation.as_str())
            && holds(&self.groups, target.group)
            && holds(&self.versions, target.version)
            && self.resources.iter().any(|(resource, subresource)| {
                is(resource, target.resource) && is(subresource, target.subresource)
            })
            && (self.names.is_empty() || self.names.iter().any(|name| name == target.name))
    }

    /// Namespaces count as cluster-scoped although their requests carry a namespace: their own name.
    fn in_scope(&self, target: &Target<'_>) -> bool {
        let is_namespace =
            target.group.is_empty() && target.version == "v1" && target.resource == "namespaces";
        let cluster = target.namespace.is_empty() || is_namespace;
        match self.scope {
            Scope::All => true,
            Scope::Cluster => cluster,
            Scope::Namespaced => !cluster,
        }
    }
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn split(entry: &str) -> (String, String) {
    let (resource, subresource) = entry.split_once('/').unwrap_or((entry, ""));
    (resource.to_owned(), subresource.to_owned())
}

fn holds(list: &[String], word: &str) -> bool {
    list.iter().any(|entry| is(entry, word))
}

fn is(entry: &str, word: &str) -> bool {
    entry == "*" || entry == word
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(rule: &Value, resource: &str, namespace: &str) -> bool {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Rule::from_object(rule).matches(&Target {
            operation: Operation::Create,
            group: "",
            version: "v1",
            resource,
            subresource,
            namespace,
            name: "",
        })
    }

    fn of_resources(resources: &[&str]) -> Value {
        json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources})
    }

    #[test]
    fn a5_each_form_of_a_resource_entry_matches_what_it_names() {
        let requests = ["pods", "pods/status", "deployments", "deployments/scale"];
        let table: [(&[&str], [bool; 4]); 8] = [
            (&["pods"], [true, false, false, false]),
            (&["pods/*"], [true, true, false, false]),
            (&["*"], [true, false, true, false]),
            (&["*/*"], [true, true, true, true]),
            (&["*/scale"], [false, false, false, true]),
            (&["pods/status"], [false, true, false, false]),
            (&["services", "pods"], [true, false, false, false]),
            (&[], [false, false, false, false]),
        ];
        for (entries, expected) in table {
            let rule = of_resources(entries);
            let found = requests.map(|request| matches(&rule, request, "blue"));
            assert_eq!(found, expected, "{entries:?}");
        }
    }

    #[test]
    fn a5_scope_takes_namespaces_for_cluster_scoped() {
        let rows = [
            ("*", [true, true, true, true]),
            ("Namespaced", [true, false, false, false]),
            ("Cluster", [false, true, true, true]),
        ];
        for (scope, expected) in rows {
            let mut rule = of_resources(&["*/*"]);
            rule["scope"] = json!(scope);
            let found = [
                matches(&rule, "pods", "blue"),
                matches(&rule, "nodes", ""),
                matches(&rule, "namespaces", "blue"),
                matches(&rule, "namespaces/status", "blue"),
            ];
            assert_eq!(found, expected, "{scope}");
        }
    }

    #[test]
    fn a5_operation_group_and_version_all_have_to_match() {
        let good = json!({"operations": ["UPDATE", "CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
        assert!(matches(&good, "pods", "blue"));
        for (field, value) in [
            ("operations", json!(["UPDATE"])),
            ("apiGroups", json!(["apps"])),
            ("apiVersions", json!(["v2"])),
            ("resources", json!(["services"])),
            ("operations", json!([])),
        ] {
            let mut rule = good.clone();
            rule[field] = value;
            assert!(!matches(&rule, "pods", "blue"), "{field}");
            rule[field] = json!(["*"]);
            assert!(matches(&rule, "pods", "blue"), "{field}");
        }
    }
}
