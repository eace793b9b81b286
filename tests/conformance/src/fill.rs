//! Fills in the variables of steps and hooks.

use serde_json::Value;

use crate::case::{Hook, OneOrMany, Policy, Step};
use crate::vars::Vars;

impl Vars {
    pub(crate) fn fill_step(&self, step: &Step) -> Step {
        let text = |text: &Option<String>| text.as_ref().map(|text| self.text(text));
        // A cell that is null is a step without a body.
        let value = |value: &Option<Value>| {
            let value = value.as_ref().map(|value| self.value(value));
            value.filter(|value| !value.is_null())
        };
        let mut filled = Step {
            create: value(&step.create),
            change: value(&step.change),
            send: text(&step.send),
            watch: text(&step.watch),
            subresource: text(&step.subresource),
            query: text(&step.query),
            naming: text(&step.naming),
            body: value(&step.body),
            text: text(&step.text),
            ..step.clone()
        };
        for header in filled.headers.values_mut() {
            *header = self.text(header);
        }
        for value in filled.set.values_mut() {
            *value = self.value(value);
        }
        let awaited = filled.awaits.iter();
        filled.awaits = awaited
            .map(|(pointer, value)| (self.text(pointer), self.value(value)))
            .collect();
        if let Some(user) = &mut filled.user {
            user.user = self.text(&user.user);
            for text in user.groups.iter_mut().chain(user.extra.values_mut()) {
                *text = self.text(text);
            }
        }
        filled
    }

    pub(crate) fn fill_hook(&self, hook: &Hook) -> Hook {
        // A cell that is a list is a list of answers.
        let fill = |answers: &OneOrMany<Value>| {
            let filled = answers.0.iter().map(|answer| self.value(answer));
            OneOrMany(filled.flat_map(listed).collect())
        };
        Hook {
            rules: self.value(&hook.rules),
            fields: self.fields(&hook.fields),
            answer: fill(&hook.answer),
            raw: fill(&hook.raw),
            ..hook.clone()
        }
    }

    pub(crate) fn fill_policy(&self, policy: &Policy) -> Policy {
        Policy {
            spec: self.value(&policy.spec),
            binding: self.value(&policy.binding),
            bindings: policy.bindings.as_ref().map(|all| self.value(all)),
            ..policy.clone()
        }
    }
}

fn listed(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        value => vec![value],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whom_a_step_impersonates_is_filled_in() {
        let step: Step = serde_json::from_value(json!({
            "send": "GET /",
            "as": {"user": "system:serviceaccount:{ns}:a", "groups": ["{ns}"], "extra": {"where": "{ns}"}},
        }))
        .expect("a step");
        let mut vars = Vars::default();
        vars.set("ns", "c-1");
        let user = vars.fill_step(&step).user.expect("a user");
        assert_eq!(user.user, "system:serviceaccount:c-1:a");
        assert_eq!(user.groups, ["c-1"]);
        assert_eq!(user.extra["where"], "c-1");
    }
}
