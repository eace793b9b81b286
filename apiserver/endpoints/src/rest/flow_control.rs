//! Which flow schema and priority level a request belongs to. No request waits here: the answer says what a real server would
//! go by.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::{HeaderMap, HeaderName, HeaderValue};
use kubewright_auth::{About, Question};
use kubewright_storage::{At, Store};
use serde::Deserialize;
use serde_json::Value;

const SCHEMAS: &str = "flowschemas.flowcontrol.apiserver.k8s.io";
const LEVELS: &str = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";

/// The flow schemas of one server, read again when one of them changes.
#[derive(Debug, Default)]
pub struct FlowControl(ArcSwapOption<Schemas>);

#[derive(Debug)]
struct Schemas {
    /// The last changes of flow schemas and of priority levels that were read.
    read_at: [u64; 2],
    /// In the order in which they are tried.
    schemas: Vec<Schema>,
}

#[derive(Debug)]
struct Schema {
    flow: Flow,
    precedence: i64,
    name: String,
    rules: Vec<Rule>,
}

/// The UIDs of the flow schema and the priority level of a request.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    schema: HeaderValue,
    level: HeaderValue,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<PathRule>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subject {
    user: Option<Named>,
    group: Option<Named>,
    service_account: Option<Named>,
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    cluster_scope: bool,
    namespaces: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PathRule {
    verbs: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    urls: Vec<String>,
}

impl FlowControl {
    /// Returns the flow that a request belongs to; none if no flow schema is for it.
    pub(crate) fn flow_of(&self, store: &Store, question: &Question<'_>) -> Option<Flow> {
        let now = [store.changed(SCHEMAS), store.changed(LEVELS)];
        let read = self.0.load();
        let current = read.as_ref().filter(|read| read.read_at == now);
        if let Some(current) = current {
            return current.flow_of(question);
        }
        let read = Arc::new(Schemas::read(store, now));
        self.0.store(Some(Arc::clone(&read)));
        read.flow_of(question)
    }
}

impl Flow {
    /// Writes the flow into the headers of an answer.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        const SCHEMA: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
        const LEVEL: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
        headers.insert(SCHEMA, self.schema);
        headers.insert(LEVEL, self.level);
    }
}

impl Schemas {
    fn read(store: &Store, read_at: [u64; 2]) -> Self {
        let all = |resource: &str| -> Vec<Value> {
            let listed = store.list(resource, "", "", usize::MAX, At::Now);
            let objects = listed.map(|listed| listed.objects).unwrap_or_default();
            objects.iter().map(|object| object.value()).collect()
        };
        let levels = all(LEVELS);
        // A schema whose level is missing is not gone by.
        let level = |name: &str| {
            let is_it = |level: &&Value| level["metadata"]["name"] == name;
            levels.iter().find(is_it).and_then(uid)
        };
        let mut schemas: Vec<Schema> = all(SCHEMAS)
            .iter()
            .filter_map(|object| {
                let spec = object.get("spec")?;
                let level = level(spec.pointer("/priorityLevelConfiguration/name")?.as_str()?)?;
                let rules = spec.get("rules").cloned().unwrap_or_default();
                Some(Schema {
                    flow: Flow {
                        schema: uid(object)?,
                        level,
                    },
                    precedence: spec.get("matchingPrecedence").and_then(Value::as_i64)?,
                    name: object.pointer("/metadata/name")?.as_str()?.to_owned(),
                    rules: serde_json::from_value(rules).unwrap_or_default(),
                })
            })
            .collect();
        schemas.sort_by(|one, other| {
            let order = one.precedence.cmp(&other.precedence);
            order.then_with(|| one.name.cmp(&other.name))
        });
        Self { read_at, schemas }
    }

    fn flow_of(&self, question: &Question<'_>) -> Option<Flow> {
        let mut schemas = self.schemas.iter();
        let schema =
            schemas.find(|schema| schema.rules.iter().any(|rule| rule.is_for(question)))?;
        Some(schema.flow.clone())
    }
}

fn uid(object: &Value) -> Option<HeaderValue> {
    let uid = object.pointer("/metadata/uid")?.as_str()?;
    HeaderValue::from_str(uid).ok()
}

impl Rule {
    fn is_for(&self, question: &Question<'_>) -> bool {
        if !self.subjects.iter().any(|subject| subject.is(question)) {
            return false;
        }
        let verb = question.verb;
        match question.about {
            About::Path(path) => self
                .non_resource_rules
                .iter()
                .any(|rule| has(&rule.verbs, verb) && rule.covers(path)),
            About::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => self.resource_rules.iter().any(|rule| {
                has(&rule.verbs, verb)
                    && rule.has_resource(resource, subresource)
                    && has(&rule.api_groups, group)
                    && rule.has_namespace(namespace)
            }),
        }
    }
}

impl Subject {
    fn is(&self, question: &Question<'_>) -> bool {
        let user = question.user;
        if let Some(named) = &self.user {
            return named.name == "*" || named.name == user.username;
        }
        if let Some(named) = &self.group {
            return named.name == "*" || user.groups.contains(&named.name);
        }
        let Some(named) = &self.service_account else {
            return false;
        };
        let account = user.username.strip_prefix("system:serviceaccount:");
        let account = account.and_then(|account| account.strip_prefix(&*named.namespace));
        let account = account.and_then(|account| account.strip_prefix(':'));
        account.is_some_and(|account| named.name == "*" || named.name == account)
    }
}

impl ResourceRule {
    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        if subresource.is_empty() {
            return has(&self.resources, resource);
        }
        has(&self.resources, &format!("{resource}/{subresource}"))
    }

    fn has_namespace(&self, namespace: &str) -> bool {
        if namespace.is_empty() {
            self.cluster_scope
        } else {
            has(&self.namespaces, namespace)
        }
    }
}

impl PathRule {
    fn covers(&self, path: &str) -> bool {
        self.urls.iter().any(|url| {
            let folder = url.trim_end_matches('*').trim_end_matches('/');
            let below = path.strip_prefix(folder);
            url == "*" || url == path || below.is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Whether a list has a string, or is the wildcard alone.
fn has(list: &[String], text: &str) -> bool {
    matches!(list, [only] if only == "*") || list.iter().any(|item| item == text)
}

#[cfg(test)]
mod tests {
    use kubewright_apimachinery::user::User;
    use serde_json::json;

    use super::*;

    fn rule(rule: Value) -> Rule {
        serde_json::from_value(rule).unwrap()
    }

    fn user(name: &str, groups: &[&str]) -> User {
        User {
            username: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..User::default()
        }
    }

    #[test]
    fn a_rule_is_for_its_subjects_alone() {
        let is_for = |subject: Value, user: &User| {
            let rule = rule(json!({
                "subjects": [subject],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }));
            let about = About::Path("/x");
            let verb = "get";
            rule.is_for(&Question { user, verb, about })
        };
        let jane = user("jane", &["dev"]);
        assert!(is_for(
            json!({"kind": "User", "user": {"name": "jane"}}),
            &jane
        ));
        assert!(!is_for(
            json!({"kind": "User", "user": {"name": "joe"}}),
            &jane
        ));
        assert!(is_for(
            json!({"kind": "Group", "group": {"name": "dev"}}),
            &jane
        ));
        assert!(!is_for(
            json!({"kind": "Group", "group": {"name": "ops"}}),
            &jane
        ));
        let account = user("system:serviceaccount:blue:web", &[]);
        let of = |namespace: &str, name: &str| json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}});
        assert!(is_for(of("blue", "web"), &account));
        assert!(is_for(of("blue", "*"), &account));
        assert!(!is_for(of("blu", "*"), &account));
        assert!(!is_for(of("blue", "we"), &account));
    }

    #[test]
    fn a_rule_is_for_its_resources_and_paths_alone() {
        let rule = rule(json!({
            "subjects": [{"kind": "Group", "group": {"name": "*"}}],
            "resourceRules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"], "namespaces": ["blue"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/logs/*"]}],
        }));
        let jane = user("jane", &[]);
        let asks = |verb: &str, about: About<'_>| {
            rule.is_for(&Question {
                user: &jane,
                verb,
                about,
            })
        };
        let pods = |namespace, subresource| About::Resource {
            group: "",
            resource: "pods",
            subresource,
            namespace,
            name: "",
            fields: None,
        };
        assert!(asks("get", pods("blue", "")));
        assert!(asks("get", pods("blue", "log")));
        assert!(!asks("get", pods("blue", "status")));
        assert!(!asks("get", pods("green", "")));
        assert!(!asks("list", pods("", "")));
        assert!(!asks("create", pods("blue", "")));
        assert!(asks("get", About::Path("/healthz")));
        assert!(asks("get", About::Path("/healthz/ping")));
        assert!(asks("get", About::Path("/logs/a")));
        assert!(!asks("get", About::Path("/healthzz")));
        assert!(!asks("post", About::Path("/healthz")));
    }
}
