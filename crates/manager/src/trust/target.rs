//! The objects of a cluster that say by which authorities a program is known.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_certificates::TrustBundle;
use kubewright_controller::Kind;
use kubewright_manifests::PolicyRule;
use serde_json::Value;

/// One object that leads API servers to the program, and what in it is the program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) sort: Sort,
    pub(crate) name: String,
    /// The webhooks of a configuration that are the program's, by their full names.
    hooks: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Mutating,
    Validating,
    Definition,
    ApiService,
}

impl Target {
    /// A configuration of webhooks, of which these are the program's.
    pub(super) fn configuration(sort: Sort, name: &str, hooks: BTreeSet<String>) -> Self {
        Self {
            sort,
            name: name.to_owned(),
            hooks,
        }
    }

    /// Something that is the program's as a whole.
    pub(super) fn named(sort: Sort, name: &str) -> Self {
        Self::configuration(sort, name, BTreeSet::new())
    }

    pub(crate) fn kind(&self) -> Kind {
        let version = format!("{}/v1", self.sort.group());
        Kind::cluster_scoped(&version, self.sort.kind(), self.sort.plural())
            .expect("the names of Kubernetes' own kinds are valid")
    }

    /// What it takes to keep it.
    pub(crate) fn rule(&self) -> PolicyRule {
        let (group, plural) = (self.sort.group(), self.sort.plural());
        PolicyRule::new(group, plural, ["get", "list", "watch", "update"]).named(&self.name)
    }

    /// The path of all objects of its kind.
    pub(crate) fn collection(&self) -> String {
        let (group, plural) = (self.sort.group(), self.sort.plural());
        format!("/apis/{group}/v1/{plural}")
    }

    /// The paths to the places where the program is said to be, each with its `caBundle`.
    pub(crate) fn places(&self, object: &Value) -> Vec<String> {
        match self.sort {
            Sort::Mutating | Sort::Validating => {
                let webhooks = object["webhooks"].as_array().into_iter().flatten();
                let is_own = |webhook: &Value| {
                    let name = webhook["name"].as_str();
                    name.is_some_and(|name| self.hooks.contains(name))
                };
                let numbered = webhooks.enumerate();
                let own = numbered.filter(|(_, webhook)| is_own(webhook));
                own.map(|(number, _)| format!("/webhooks/{number}/clientConfig"))
                    .collect()
            }
            Sort::Definition => {
                let place = "/spec/conversion/webhook/clientConfig";
                let is_there = object.pointer(place).is_some_and(Value::is_object);
                Vec::from_iter(is_there.then(|| place.to_owned()))
            }
            // Without a Service an API server answers itself.
            Sort::ApiService if object["spec"]["service"].is_object() => vec!["/spec".to_owned()],
            Sort::ApiService => Vec::new(),
        }
    }

    /// The bundles by which the program is known now.
    pub(crate) fn bundles(&self, object: &Value) -> Vec<TrustBundle> {
        let places = self.places(object).into_iter();
        places
            .map(|place| TrustBundle::found_in(text_at(object, &place)))
            .collect()
    }
}

/// The PEM text of the `caBundle` at a place. What is no base64, which no API server stores, is none.
pub(crate) fn text_at(object: &Value, place: &str) -> Vec<u8> {
    let place = object.pointer(place).unwrap_or(&Value::Null);
    let bundle = place["caBundle"].as_str().unwrap_or_default();
    STANDARD.decode(bundle).unwrap_or_default()
}

impl Sort {
    fn kind(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingWebhookConfiguration",
            Self::Validating => "ValidatingWebhookConfiguration",
            Self::Definition => "CustomResourceDefinition",
            Self::ApiService => "APIService",
        }
    }

    fn group(self) -> &'static str {
        match self {
            Self::Mutating | Self::Validating => "admissionregistration.k8s.io",
            Self::Definition => "apiextensions.k8s.io",
            Self::ApiService => "apiregistration.k8s.io",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations",
            Self::Validating => "validatingwebhookconfigurations",
            Self::Definition => "customresourcedefinitions",
            Self::ApiService => "apiservices",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.sort.kind(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(sort: Sort) -> Target {
        Target {
            sort,
            name: "policy".to_owned(),
            hooks: ["a.example.com".to_owned(), "c.example.com".to_owned()].into(),
        }
    }

    #[test]
    fn of_a_configuration_only_the_webhooks_of_the_program_are_its_own() {
        let object = json!({"webhooks": [
            {"name": "a.example.com"}, {"name": "b.example.com"}, {"name": "c.example.com"}, {},
        ]});
        let places = target(Sort::Validating).places(&object);
        assert_eq!(
            places,
            ["/webhooks/0/clientConfig", "/webhooks/2/clientConfig"]
        );
        assert!(target(Sort::Mutating).places(&json!({})).is_empty());
    }

    #[test]
    fn a_definition_without_conversion_and_a_local_service_lead_nowhere() {
        let of = |sort, object: Value| target(sort).places(&object);
        let converted = json!({"spec": {"conversion": {"webhook": {"clientConfig": {}}}}});
        assert_eq!(
            of(Sort::Definition, converted),
            ["/spec/conversion/webhook/clientConfig"]
        );
        let plain = json!({"spec": {"conversion": {"strategy": "None"}}});
        assert!(of(Sort::Definition, plain).is_empty());
        let served = json!({"spec": {"service": {"name": "policy"}}});
        assert_eq!(of(Sort::ApiService, served), ["/spec"]);
        assert!(of(Sort::ApiService, json!({"spec": {}})).is_empty());
    }

    #[test]
    fn what_is_no_base64_is_no_bundle() {
        let object = json!({"spec": {"caBundle": "&"}});
        assert!(text_at(&object, "/spec").is_empty());
        assert!(text_at(&object, "/status").is_empty());
    }
}
