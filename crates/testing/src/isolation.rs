//! Isolation of tests that share an API server.
//!
//! Every test cluster has its own namespaces, which carry its label; its webhook configurations have unique names and select
//! that label. An extra webhook in each configuration matches only a probe, and so shows when the API server has loaded the
//! configuration.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use serde_json::{Map, Value, json};

use crate::policies;

/// Names, labels and selectors of one test cluster.
#[derive(Clone, Debug)]
pub(crate) struct Isolation {
    id: String,
}

impl Isolation {
    pub(crate) fn new() -> Self {
        Self { id: random() }
    }

    /// The namespace of objects without a namespace.
    pub(crate) fn namespace(&self) -> String {
        format!("test-{}", self.id)
    }

    /// Labels a namespace as this test cluster's: its webhooks are called only for objects in such namespaces.
    pub(crate) fn mark(&self, object: &mut Value) {
        if object["apiVersion"] == "v1" && object["kind"] == "Namespace" {
            object["metadata"]["labels"][LABEL] = self.id.as_str().into();
        }
    }

    /// A role or a binding with a unique name.
    pub(crate) fn renamed(&self, object: &Value) -> Value {
        let mut own = object.clone();
        for name in ["/metadata/name", "/roleRef/name"] {
            if let Some(Value::String(name)) = own.pointer_mut(name) {
                *name = format!("{name}-{}", self.id);
            }
        }
        own
    }

    /// A name that no other test cluster has.
    pub(crate) fn own(&self, name: &str) -> String {
        let end = format!("-{}", self.id);
        match name.strip_suffix(&end) {
            Some(_) => name.to_owned(),
            None => format!("{name}{end}"),
        }
    }

    /// Where the probe's webhook lacks the trust of the one beside it, and what that is.
    pub(crate) fn missing_trust(&self, configuration: &Value) -> Option<(usize, Value)> {
        let webhooks = configuration["webhooks"].as_array()?;
        let bundle = |webhook: &Value| webhook["clientConfig"]["caBundle"].clone();
        let probe = self.probe_name();
        let number = webhooks
            .iter()
            .position(|webhook| webhook["name"] == probe)?;
        let trusted = bundle(webhooks.first()?);
        (bundle(&webhooks[number]) != trusted).then_some((number, trusted))
    }

    /// A webhook configuration for this test cluster alone, with the webhook that the probe finds.
    pub(crate) fn narrow(&self, configuration: &Value) -> Value {
        let mut narrow = configuration.clone();
        let name = configuration["metadata"]["name"]
            .as_str()
            .unwrap_or("webhooks");
        if policies::is_one(configuration) {
            self.narrow_policy(&mut narrow);
            return narrow;
        }
        narrow["metadata"]["name"] = self.own(name).into();
        let Some(webhooks) = narrow["webhooks"].as_array_mut() else {
            return narrow;
        };
        let probe = webhooks
            .first()
            .and_then(|first| self.probed(first, configuration));
        for webhook in webhooks.iter_mut() {
            webhook["namespaceSelector"]["matchLabels"][LABEL] = self.id.as_str().into();
            if is_called_for_probes(webhook) {
                let other = json!({"key": PROBE_LABEL, "operator": "DoesNotExist"});
                match &mut webhook["objectSelector"]["matchExpressions"] {
                    Value::Array(expressions) => expressions.push(other),
                    expressions => *expressions = json!([other]),
                }
            }
        }
        webhooks.extend(probe);
        narrow
    }

    /// Makes a policy, or a binding, one of this test cluster alone. Its name begins with that of the program's configurations, which
    /// is unique.
    fn narrow_policy(&self, policy: &mut Value) {
        for name in ["/metadata/name", "/spec/policyName"] {
            if let Some(Value::String(name)) = policy.pointer_mut(name)
                && !name.contains(&self.id)
            {
                *name = format!("{name}.{}", self.id);
            }
        }
        if let Some(constraints) = policy.pointer_mut("/spec/matchConstraints") {
            constraints["namespaceSelector"]["matchLabels"][LABEL] = self.id.as_str().into();
        }
    }

    /// What matches the probe of a policy: objects with a label of this name in the namespaces of this test cluster.
    pub(crate) fn probe_of_policies(&self, name: &str) -> (Value, Value) {
        let labels = json!({PROBE_LABEL: name});
        let constraints = json!({
            "namespaceSelector": {"matchLabels": {LABEL: self.id}},
            "objectSelector": {"matchLabels": labels},
            "resourceRules": [{
                "apiGroups": [PROBE_GROUP], "apiVersions": ["v1"], "resources": [PROBE_RESOURCE], "operations": ["CREATE"],
            }],
        });
        let probe = json!({
            "apiVersion": format!("{PROBE_GROUP}/v1"),
            "kind": "Lease",
            "metadata": {"generateName": "probe-", "labels": labels},
        });
        (constraints, probe)
    }

    /// A webhook at the address of another one, with a path that no handler serves.
    fn probed(&self, beside: &Value, configuration: &Value) -> Option<Value> {
        let mut client = beside["clientConfig"].clone();
        let url = client["url"].as_str()?;
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split('/').next()?;
        client["url"] = format!("{scheme}://{host}/{PROBE}").into();
        Some(json!({
            "name": self.probe_name(),
            "clientConfig": client,
            "rules": [{
                "apiGroups": [PROBE_GROUP], "apiVersions": ["v1"], "resources": [PROBE_RESOURCE],
                "operations": ["CREATE"], "scope": "Namespaced",
            }],
            "namespaceSelector": {"matchLabels": {LABEL: self.id}},
            "objectSelector": {"matchLabels": probe_labels(configuration)},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
        }))
    }

    /// The name of the webhook that the probe finds.
    pub(crate) fn probe_name(&self) -> String {
        format!("{PROBE}.{}.kubewright.dev", self.id)
    }

    /// Where the probe is sent to, in a dry run.
    pub(crate) fn probe_path(&self) -> String {
        let namespace = self.namespace();
        format!("/apis/{PROBE_GROUP}/v1/namespaces/{namespace}/{PROBE_RESOURCE}?dryRun=All")
    }

    /// An object for which nothing but the extra webhook of a configuration is called.
    pub(crate) fn probe(configuration: &Value) -> Value {
        json!({
            "apiVersion": format!("{PROBE_GROUP}/v1"),
            "kind": "Lease",
            "metadata": {"generateName": "probe-", "labels": probe_labels(configuration)},
        })
    }
}

fn probe_labels(configuration: &Value) -> Map<String, Value> {
    let value = format!(
        "{}.{}",
        configuration["kind"].as_str().unwrap_or_default(),
        configuration["metadata"]["name"]
            .as_str()
            .unwrap_or_default(),
    );
    // A label's value has at most 63 characters.
    let value: String = value.chars().take(63).collect();
    let value = value.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
    Map::from_iter([(PROBE_LABEL.to_owned(), value.into())])
}

/// Whether a webhook is called for the creation of a probe, going by its rules.
fn is_called_for_probes(webhook: &Value) -> bool {
    let names = |rule: &Value, field: &str, name: &[&str]| {
        let listed = rule[field].as_array();
        listed.is_some_and(|all| all.iter().any(|one| name.iter().any(|name| one == name)))
    };
    let rules = webhook["rules"].as_array();
    rules.is_some_and(|rules| {
        rules.iter().any(|rule| {
            names(rule, "operations", &["CREATE", "*"])
                && names(rule, "apiGroups", &[PROBE_GROUP, "*"])
                && names(rule, "resources", &[PROBE_RESOURCE, "*", "*/*"])
        })
    })
}

/// A name that no other test has, beginning with `name`: for objects that a shared API server has only once, such as
/// namespaces.
///
/// ```
/// use kubewright_testing::unique;
///
/// let (one, other) = (unique("billing"), unique("billing"));
/// assert!(one.starts_with("billing-"));
/// assert_ne!(one, other);
/// ```
pub fn unique(name: &str) -> String {
    format!("{name}-{}", random())
}

/// Ten characters that can end any name in Kubernetes.
fn random() -> String {
    let mut number = RandomState::new().build_hasher().finish();
    let mut text = String::new();
    for _ in 0..10 {
        let digit = u32::try_from(number % 36).unwrap_or_default();
        text.extend(char::from_digit(digit, 36));
        number /= 36;
    }
    text
}

const LABEL: &str = "kubewright.dev/test-cluster";
const PROBE_LABEL: &str = "kubewright.dev/test-probe";
const PROBE: &str = "test-probe";
// A kind that hardly any webhook is for.
const PROBE_GROUP: &str = "coordination.k8s.io";
const PROBE_RESOURCE: &str = "leases";

#[cfg(test)]
mod tests {
    use super::*;

    fn isolation() -> Isolation {
        Isolation {
            id: "abc".to_owned(),
        }
    }

    fn configuration() -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "policy"},
            "webhooks": [{
                "name": "a.example.com",
                "clientConfig": {"url": "https://127.0.0.1:8443/a?x=y", "caBundle": "Q0E="},
                "namespaceSelector": {
                    "matchLabels": {"team": "blue"},
                    "matchExpressions": [{"key": "on", "operator": "Exists"}],
                },
            }, {
                "name": "b.example.com",
                "clientConfig": {"url": "https://127.0.0.1:8443/b", "caBundle": "Q0E="},
            }],
        })
    }

    #[test]
    fn a_configuration_is_narrowed_to_the_namespaces_of_its_test() {
        let narrow = isolation().narrow(&configuration());
        assert_eq!(narrow["metadata"]["name"], "policy-abc");
        assert_eq!(
            narrow["webhooks"][0]["namespaceSelector"],
            json!({
                "matchLabels": {"team": "blue", "kubewright.dev/test-cluster": "abc"},
                "matchExpressions": [{"key": "on", "operator": "Exists"}],
            })
        );
        assert_eq!(
            narrow["webhooks"][1]["namespaceSelector"],
            json!({"matchLabels": {"kubewright.dev/test-cluster": "abc"}})
        );
        assert_eq!(narrow["webhooks"][0]["name"], "a.example.com");
    }

    #[test]
    fn one_webhook_without_a_handler_matches_the_probe() {
        let narrow = isolation().narrow(&configuration());
        let probe = &narrow["webhooks"][2];
        assert_eq!(probe["name"], isolation().probe_name());
        assert_eq!(
            probe["clientConfig"],
            json!({"url": "https://127.0.0.1:8443/test-probe", "caBundle": "Q0E="})
        );
        assert_eq!(
            probe["objectSelector"]["matchLabels"],
            Isolation::probe(&configuration())["metadata"]["labels"]
        );
        let mut other = configuration();
        other["kind"] = "MutatingWebhookConfiguration".into();
        assert_ne!(
            probe["objectSelector"]["matchLabels"],
            Isolation::probe(&other)["metadata"]["labels"]
        );
    }

    #[test]
    fn a_configuration_that_has_its_own_name_already_keeps_it() {
        let narrow = isolation().narrow(&configuration());
        let again = isolation().narrow(&narrow);
        assert_eq!(again["metadata"]["name"], "policy-abc");
    }

    #[test]
    fn the_probe_lacks_what_the_webhook_beside_it_was_given() {
        let isolation = isolation();
        let mut narrow = isolation.narrow(&configuration());
        assert_eq!(isolation.missing_trust(&narrow), None);
        narrow["webhooks"][0]["clientConfig"]["caBundle"] = "Q0I=".into();
        assert_eq!(isolation.missing_trust(&narrow), Some((2, "Q0I=".into())));
    }

    #[test]
    fn a_webhook_for_everything_is_not_called_for_the_probe() {
        let rules = json!([{
            "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"],
        }]);
        let mut all = configuration();
        all["webhooks"][1]["rules"] = rules.clone();
        all["webhooks"][0]["rules"] = rules;
        all["webhooks"][0]["rules"][0]["resources"] = json!(["pods"]);
        let narrow = isolation().narrow(&all);
        assert_eq!(narrow["webhooks"][0]["objectSelector"], Value::Null);
        assert_eq!(
            narrow["webhooks"][1]["objectSelector"],
            json!({"matchExpressions": [
                {"key": "kubewright.dev/test-probe", "operator": "DoesNotExist"},
            ]})
        );
    }

    #[test]
    fn a_probe_has_a_label_that_is_valid_however_long_the_name() {
        let mut long = configuration();
        long["metadata"]["name"] = format!("a.{}", "-.".repeat(100)).into();
        let labels = probe_labels(&long);
        assert_eq!(labels[PROBE_LABEL], "ValidatingWebhookConfiguration.a");
    }

    #[test]
    fn only_namespaces_are_marked() {
        let mut namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
        isolation().mark(&mut namespace);
        assert_eq!(
            namespace["metadata"]["labels"],
            json!({"kubewright.dev/test-cluster": "abc"})
        );
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
        let before = pod.clone();
        isolation().mark(&mut pod);
        assert_eq!(pod, before);
    }

    #[test]
    fn no_two_names_are_the_same() {
        let names: std::collections::BTreeSet<String> = (0..1000).map(|_| unique("a")).collect();
        assert_eq!(names.len(), 1000);
        let is_valid = |name: &String| {
            name.strip_prefix("a-").is_some_and(|rest| {
                rest.len() == 10
                    && rest
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
        };
        assert!(names.iter().all(is_valid), "{names:?}");
    }
}
