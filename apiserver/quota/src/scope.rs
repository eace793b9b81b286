//! Scopes: a quota with scopes counts only the objects that are in all of them.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

/// One scope of a quota, with the values that it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) name: String,
    operator: String,
    values: Vec<String>,
}

impl Scope {
    /// The scopes of the specification of a quota.
    pub(crate) fn all_of(spec: &Value) -> Vec<Self> {
        let named = spec.list("scopes").iter().filter_map(Value::as_str);
        let named = named.map(|name| Self {
            name: name.to_owned(),
            operator: "Exists".to_owned(),
            values: Vec::new(),
        });
        let selected = spec.at("scopeSelector").list("matchExpressions").iter();
        let selected = selected.map(|requirement| Self {
            name: requirement.text("scopeName").to_owned(),
            operator: requirement.text("operator").to_owned(),
            values: requirement
                .list("values")
                .iter()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect(),
        });
        named.chain(selected).collect()
    }

    /// Whether an object with these values of the scope is selected: with none, or with one of them.
    pub(crate) fn selects(&self, values: &[&str]) -> bool {
        let has = |value: &&str| self.values.iter().any(|listed| listed == value);
        match self.operator.as_str() {
            "In" => values.iter().any(has),
            "NotIn" => values.is_empty() || values.iter().any(|value| !has(value)),
            "Exists" => !values.is_empty(),
            "DoesNotExist" => values.is_empty(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scope_selects_as_a_label_selector_does() {
        let scope = |operator: &str| {
            let requirement =
                json!({"scopeName": "PriorityClass", "operator": operator, "values": ["high"]});
            let spec = json!({"scopeSelector": {"matchExpressions": [requirement]}});
            Scope::all_of(&spec).remove(0)
        };
        for (operator, none, high, low) in [
            ("In", false, true, false),
            ("NotIn", true, false, true),
            ("Exists", false, true, true),
            ("DoesNotExist", true, false, false),
        ] {
            let scope = scope(operator);
            let selected = [&[][..], &["high"], &["low"]].map(|values| scope.selects(values));
            assert_eq!(selected, [none, high, low], "{operator}");
        }
    }
}
