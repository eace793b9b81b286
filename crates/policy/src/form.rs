//! The fields of the policy and of its binding, and what keeps a policy from being either form.

use std::collections::HashSet;

use kubewright_webhook::Role;
use serde_json::{Value, json};

use crate::check::{self, Typed};
use crate::compiled::Compiled;
use crate::expression::Source;
use crate::parts::{Action, Change, Parts, Reason};

/// The fields of the policy's spec that are not those of a hook.
pub(crate) fn spec(parts: &Parts) -> Value {
    let mut spec = json!({});
    if let Some(params) = &parts.params {
        spec["paramKind"] = params.kind();
    }
    let named = |named: &[(String, Source)]| -> Value {
        let named = named.iter();
        named
            .map(|(name, source)| json!({"name": name, "expression": source.text}))
            .collect()
    };
    if !parts.variables.is_empty() {
        spec["variables"] = named(&parts.variables);
    }
    if !parts.conditions.is_empty() {
        spec["matchConditions"] = named(&parts.conditions);
    }
    if !parts.rules.is_empty() {
        spec["validations"] = parts.rules.iter().map(validation).collect();
    }
    if !parts.annotations.is_empty() {
        let annotations = parts.annotations.iter();
        spec["auditAnnotations"] = annotations
            .map(|(key, source)| json!({"key": key, "valueExpression": source.text}))
            .collect();
    }
    if !parts.mutations.is_empty() {
        let mutations = parts.mutations.iter();
        spec["mutations"] = mutations
            .map(|mutation| {
                let (kind, field) = match mutation.change {
                    Change::Apply => ("ApplyConfiguration", "applyConfiguration"),
                    Change::Patch => ("JSONPatch", "jsonPatch"),
                };
                json!({"patchType": kind, field: {"expression": mutation.expression.text}})
            })
            .collect();
    }
    spec
}

fn validation(rule: &crate::parts::Rule) -> Value {
    let mut validation = json!({"expression": rule.expression.text});
    if !rule.message.is_empty() {
        validation["message"] = json!(rule.message);
    }
    if let Some(source) = &rule.message_expression {
        validation["messageExpression"] = json!(source.text);
    }
    if rule.reason != Reason::default() {
        validation["reason"] = json!(rule.reason.as_str());
    }
    validation
}

/// The fields of the binding's spec beside the name of its policy.
pub(crate) fn binding(parts: &Parts, role: Role) -> Value {
    let mut binding = json!({});
    if role == Role::Validating {
        let shadow = [Action::Audit];
        let actions = if parts.shadow {
            &shadow
        } else {
            parts.actions()
        };
        let actions = actions.iter();
        binding["validationActions"] = actions.map(|action| json!(action.as_str())).collect();
    }
    if let Some(params) = &parts.params {
        binding["paramRef"] = params.reference();
    }
    binding
}

/// What an API server would not accept.
pub(crate) fn problem(parts: &Parts, role: Role) -> Option<String> {
    if let Some(why) = parts.problem() {
        return Some(why.to_owned());
    }
    let actions = parts.actions();
    if actions.contains(&Action::Deny) && actions.contains(&Action::Warn) {
        return Some("it both denies and warns, which would say the same twice".to_owned());
    }
    let is_empty = match role {
        Role::Validating => parts.rules.is_empty() && parts.annotations.is_empty(),
        Role::Mutating => parts.mutations.is_empty(),
    };
    if is_empty {
        return Some("it has no rule, no audit annotation and no mutation".to_owned());
    }
    for (what, named) in [
        ("variables", &parts.variables),
        ("conditions", &parts.conditions),
        ("audit annotations", &parts.annotations),
    ] {
        let mut known = HashSet::new();
        if let Some((name, _)) = named.iter().find(|(name, _)| !known.insert(name)) {
            return Some(format!("two of its {what} are named `{name}`"));
        }
    }
    let mistakes = check::mistakes(parts, &Typed::default());
    mistakes.first().map(ToString::to_string)
}

/// What only an API server can decide.
pub(crate) fn only_in_cluster(parts: &Parts, compiled: &Compiled) -> Option<String> {
    let asks = ["authorizer", "authorizer.requestResource"];
    if asks.iter().any(|variable| compiled.uses(variable)) {
        return Some(
            "it asks the authorizer, which only an API server has; ask for the groups of the user, or leave the policy out for such clusters"
                .to_owned(),
        );
    }
    if parts
        .params
        .as_ref()
        .is_some_and(|params| params.cache.is_none())
    {
        return Some(
            "it has parameters and no cache that it reads them from; give it one with `.params_from(needs.cached::<..>(), ..)`"
                .to_owned(),
        );
    }
    if compiled.uses("namespaceObject") && parts.namespaces.is_none() {
        return Some(
            "it uses `namespaceObject` and has no cache of namespaces; give it one with `.namespaces_from(needs.cached::<Namespace>())`"
                .to_owned(),
        );
    }
    None
}
