//! What only validating policies have: rules, what is done where they do not hold, and audit annotations.

use std::sync::{Arc, OnceLock};

use kubewright_webhook::{Object, Role, validating};

use super::Policy;
use crate::Validates;
use crate::expression::Source;
use crate::handler::{Handler, Unread};
use crate::parts::{Action, Reason, Rule};

impl<K: Object> Policy<K, Validates> {
    /// Starts a policy that denies changes of objects of the kind `K` for which its rules do not hold.
    pub fn validating(name: impl Into<String>) -> Self {
        let (name, ready) = (name.into(), Arc::<OnceLock<_>>::default());
        let hook = validating::<Unread<K>, _>(&name, Handler(Arc::clone(&ready)));
        Self::new(name, Role::Validating, hook, ready)
    }

    /// Adds a rule: an expression that has to be true, and the message where it is not.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Service;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Service>::validating("services")
    ///     .rule("object.spec.type != 'NodePort'", "use an Ingress")
    ///     .rule("size(object.spec.ports) < 3", "have at most 2 ports");
    /// let request = Request::create::<Service>(json!({"spec": {"type": "NodePort", "ports": []}}));
    /// assert_eq!(policy.decide(&request).denial().unwrap().message, "use an Ingress");
    /// ```
    #[track_caller]
    pub fn rule(self, expression: impl Into<String>, message: impl Into<String>) -> Self {
        let expression = Source::new(expression);
        self.part(|parts| {
            parts.rules.push(Rule {
                expression,
                message: message.into(),
                message_expression: None,
                reason: Reason::default(),
            });
        })
    }

    /// Makes the message of the rule before it by an expression. If that fails, or evaluates to nothing useful, the message of the
    /// rule is used: an empty string, more than 5 KiB, or several lines.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::validating("names")
    ///     .rule("object.metadata.name.size() < 5", "the name is too long")
    ///     .message_expression("'the name has ' + string(object.metadata.name.size()) + ' characters'");
    /// let request = Request::create::<Pod>(json!({"metadata": {"name": "website"}}));
    /// assert_eq!(policy.decide(&request).denial().unwrap().message, "the name has 7 characters");
    /// ```
    #[track_caller]
    pub fn message_expression(self, expression: impl Into<String>) -> Self {
        let source = Source::new(expression);
        self.part(|parts| match parts.rules.last_mut() {
            Some(rule) => rule.message_expression = Some(source),
            None => {
                parts
                    .wrong("a message expression belongs to the rule before it, and there is none");
            }
        })
    }

    /// Sets the reason of the rule before it. Default: [`Reason::Invalid`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Reason, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::validating("frozen").rule("false", "no pods on Fridays").reason(Reason::Forbidden);
    /// assert_eq!(policy.decide(&Request::create::<Pod>(json!({}))).denial().unwrap().code, 403);
    /// ```
    pub fn reason(self, reason: Reason) -> Self {
        self.part(|parts| match parts.rules.last_mut() {
            Some(rule) => rule.reason = reason,
            None => parts.wrong("a reason belongs to the rule before it, and there is none"),
        })
    }

    /// Adds an audit annotation: an expression that evaluates to a string, or to null for none.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::validating("owners").audit_annotation("owner", "string(object.metadata.labels.owner)");
    /// let answer = policy.decide(&Request::create::<Pod>(json!({"metadata": {"labels": {"owner": "ann"}}})));
    /// assert_eq!(answer.audit_annotations, [("owner".to_owned(), "ann".to_owned())]);
    /// ```
    #[track_caller]
    pub fn audit_annotation(self, key: impl Into<String>, expression: impl Into<String>) -> Self {
        let source = Source::new(expression);
        self.part(|parts| parts.annotations.push((key.into(), source)))
    }

    /// Warns the client where a rule does not hold, in place of denying.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::validating("labels").rule("has(object.metadata.labels)", "label the pod").warn();
    /// let answer = policy.decide(&Request::create::<Pod>(json!({"metadata": {}})));
    /// assert!(answer.denial().is_none());
    /// assert_eq!(answer.warnings, ["label the pod"]);
    /// ```
    pub fn warn(self) -> Self {
        self.part(|parts| parts.act(Action::Warn))
    }

    /// Notes in the audit log where a rule does not hold, in place of denying: `.deny().audit()` does both, and so does
    /// `.warn().audit()`.
    pub fn audit(self) -> Self {
        self.part(|parts| parts.act(Action::Audit))
    }

    /// Denies where a rule does not hold, which is the default if it neither [warns](Self::warn) nor [audits](Self::audit).
    pub fn deny(self) -> Self {
        self.part(|parts| parts.act(Action::Deny))
    }
}
