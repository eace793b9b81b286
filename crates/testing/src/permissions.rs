//! What a program under test may do, what it does, and what it is refused.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kubewright_apiserver::RequestInfo;
use serde_json::Value;

/// The account that is kept of a program's requests: against what it was granted.
#[derive(Debug)]
pub(crate) struct Ledger {
    program: String,
    /// The user that the API server knows the program as.
    user: String,
    granted: BTreeSet<Grant>,
    /// What is only used from time to time, so that a test that does not use it says nothing about it.
    upkeep: BTreeSet<Grant>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    used: BTreeSet<Grant>,
    refused: BTreeSet<String>,
}

/// One verb on one resource, the smallest thing that can be granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    verb: String,
    group: String,
    /// With the sub-resource, as a rule names it.
    resource: String,
    /// None for all of them.
    namespace: Option<String>,
    name: Option<String>,
}

impl Ledger {
    /// An empty account of a program that has these roles, some of them for its upkeep.
    pub(crate) fn new(program: &str, user: &str, roles: &[Value], upkeep: &[Value]) -> Self {
        Self {
            program: program.to_owned(),
            user: user.to_owned(),
            granted: roles.iter().flat_map(Grant::all_of).collect(),
            upkeep: upkeep.iter().flat_map(Grant::all_of).collect(),
            entries: Mutex::default(),
        }
    }

    /// Takes down that the program has asked for something.
    pub(crate) fn asked(&self, request: &RequestInfo) {
        let used = self.granted.iter().filter(|grant| grant.covers(request));
        self.entries().used.extend(used.cloned());
    }

    /// Takes down what came of a request that was forbidden, if it was for a permission that the program does not have.
    pub(crate) fn forbidden(&self, request: &RequestInfo, status: &Value) {
        let message = status["message"].as_str().unwrap_or_default();
        // Admission and escalation checks forbid in other words.
        if message.contains(&format!("User {:?} cannot ", self.user)) {
            self.entries().refused.insert(shown(request));
        }
    }

    /// What the program was refused, in a sentence; none if that is nothing.
    pub(crate) fn refusals(&self) -> Option<String> {
        let entries = self.entries();
        let refused: Vec<&str> = entries.refused.iter().map(String::as_str).collect();
        (!refused.is_empty()).then(|| {
            format!(
                "the program under test `{}` was refused what it has no permission for:\n  {}\nIt may do what it asks \
                 `Needs` a handle or a client for, and nothing else.",
                self.program,
                refused.join("\n  ")
            )
        })
    }

    /// What the program was granted and has not used yet.
    pub(crate) fn unused(&self) -> Vec<String> {
        let entries = self.entries();
        let unused = self.granted.difference(&entries.used);
        unused
            .filter(|grant| !self.upkeep.contains(grant))
            .map(|grant| format!("{}: {grant}", self.program))
            .collect()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grant {
    /// What a role grants.
    fn all_of(role: &Value) -> Vec<Self> {
        let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
        let mut grants = Vec::new();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let names = strings(&rule["resourceNames"]);
            let names = if names.is_empty() {
                vec![None]
            } else {
                names.into_iter().map(Some).collect()
            };
            for group in strings(&rule["apiGroups"]) {
                for resource in strings(&rule["resources"]) {
                    for verb in strings(&rule["verbs"]) {
                        grants.extend(names.iter().map(|name| Self {
                            verb: verb.clone(),
                            group: group.clone(),
                            resource: resource.clone(),
                            namespace: namespace.clone(),
                            name: name.clone(),
                        }));
                    }
                }
            }
        }
        grants
    }

    /// Whether it is needed for a request. To get, to list and to watch is one permission, to read: which of them is used
    /// depends on what the API server can do, and on what happened in between.
    fn covers(&self, request: &RequestInfo) -> bool {
        let reads = |verb: &str| matches!(verb, "get" | "list" | "watch");
        let is = |have: &str, wanted: &str| have == "*" || have == wanted;
        (is(&self.verb, &request.verb) || reads(&self.verb) && reads(&request.verb))
            && is(&self.group, &request.group)
            && is(&self.resource, &resource(request))
            && self
                .namespace
                .as_ref()
                .is_none_or(|namespace| *namespace == request.namespace)
            && self.name.as_ref().is_none_or(|name| *name == request.name)
    }
}

/// Such as: get deployments/scale of apps `web` in the namespace `blue`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, " of {}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " `{name}`")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in the namespace `{namespace}`"),
            None => f.write_str(" in the whole cluster"),
        }
    }
}

/// Such as: patch deployments/scale of apps `web` in the namespace `blue`.
pub(crate) fn shown(request: &RequestInfo) -> String {
    if !request.path.is_empty() {
        return format!("{} the path `{}`", request.verb, request.path);
    }
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let asked = Grant {
        verb: request.verb.clone(),
        group: request.group.clone(),
        resource: resource(request),
        namespace: given(&request.namespace),
        name: given(&request.name),
    };
    asked.to_string()
}

fn resource(request: &RequestInfo) -> String {
    let RequestInfo {
        resource,
        subresource,
        ..
    } = request;
    if subresource.is_empty() {
        resource.clone()
    } else {
        format!("{resource}/{subresource}")
    }
}

fn strings(list: &Value) -> Vec<String> {
    let values = list.as_array().into_iter().flatten();
    values
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::json;

    use super::*;

    fn ledger(rules: &Value) -> Ledger {
        let role = json!({"metadata": {"name": "a", "namespace": "blue"}, "rules": rules});
        let user = "system:serviceaccount:blue:gardens";
        Ledger::new("gardens", user, &[role], &[])
    }

    fn request(method: &Method, uri: &'static str) -> RequestInfo {
        RequestInfo::of(method, &http::Uri::from_static(uri))
    }

    #[test]
    fn what_is_not_used_is_named_verb_by_verb() {
        let ledger = ledger(&json!([
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create", "patch"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["delete"]},
        ]));
        let path = "/apis/apps/v1/namespaces/blue/deployments";
        ledger.asked(&request(&Method::POST, path));
        // Neither another namespace nor another resource counts.
        ledger.asked(&request(
            &Method::DELETE,
            "/api/v1/namespaces/red/secrets/a",
        ));
        ledger.asked(&request(
            &Method::DELETE,
            "/api/v1/namespaces/blue/configmaps/a",
        ));
        ledger.asked(&request(
            &Method::DELETE,
            "/api/v1/namespaces/blue/secrets/b",
        ));
        assert_eq!(
            ledger.unused(),
            [
                "gardens: delete secrets `a` in the namespace `blue`",
                "gardens: patch deployments of apps in the namespace `blue`",
            ]
        );
    }

    #[test]
    fn to_read_is_one_permission() {
        let reading =
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]);
        let ledger = ledger(&reading);
        assert_eq!(ledger.unused().len(), 3);
        let watch = "/api/v1/namespaces/blue/pods?watch=true";
        ledger.asked(&request(&Method::GET, watch));
        assert!(ledger.unused().is_empty());
    }

    #[test]
    fn a_refusal_is_named_by_what_was_asked_for() {
        let ledger = ledger(&json!([]));
        let path = "/apis/apps/v1/namespaces/blue/deployments/web/scale";
        let scale = request(&Method::PATCH, path);
        let by_admission = json!({"message": "admission webhook \"a\" denied the request: no"});
        ledger.forbidden(&scale, &by_admission);
        assert_eq!(ledger.refusals(), None);
        let message = "deployments.apps \"web\" is forbidden: User \
                       \"system:serviceaccount:blue:gardens\" cannot patch resource \"deployments/scale\" …";
        ledger.forbidden(&scale, &json!({"message": message}));
        let said = ledger.refusals().unwrap();
        assert!(
            said.contains("\n  patch deployments/scale of apps `web` in the namespace `blue`\n"),
            "{said}"
        );
        assert!(said.contains("`gardens`"), "{said}");
    }
}
