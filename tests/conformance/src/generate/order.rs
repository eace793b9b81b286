//! What is wrong with an object in one order: where a real server finds it in the order of a Go map, each run tells another.

use serde_json::{Map, Value};

use crate::case::Case;

/// An outcome with its validation errors and warnings sorted.
pub(crate) fn settled(outcome: &Value) -> Value {
    match outcome {
        Value::Object(fields) => {
            let mut fields: Map<String, Value> = fields
                .iter()
                .map(|(name, value)| {
                    let value = match value {
                        Value::Array(warnings) if name == "warning" => {
                            let mut warnings = warnings.clone();
                            warnings.sort_by_cached_key(Value::to_string);
                            warnings.into()
                        }
                        value => settled(value),
                    };
                    (name.clone(), value)
                })
                .collect();
            causes(&mut fields);
            fields.into()
        }
        Value::Array(items) => items.iter().map(settled).collect(),
        // Of several bindings that allow a request a real server names one by chance.
        Value::String(why) if why.starts_with(ALLOWED) => ALLOWED.into(),
        // The library of server-side apply walks through Go maps.
        Value::String(why) if why.contains(LISTED) => {
            let (what, errors) = why.split_once(LISTED).unwrap_or_default();
            let mut errors: Vec<&str> = errors.split(BETWEEN).collect();
            errors.sort_unstable();
            format!("{what}{LISTED}{}", errors.join(BETWEEN)).into()
        }
        other => other.clone(),
    }
}

const ALLOWED: &str = "RBAC: allowed by ";
const LISTED: &str = "errors:\n  ";
const BETWEEN: &str = "\n  ";

/// Of rules that cost alike, a real server names four by chance as those that cost most.
const BY_CHANCE: &str =
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";

fn is_by_chance(message: Option<&str>) -> bool {
    message.is_some_and(|message| message.ends_with(BY_CHANCE))
}

/// Sorts the causes of a Status, and what its message says of them.
fn causes(status: &mut Map<String, Value>) {
    let found = status
        .get_mut("details")
        .and_then(|details| details.get_mut("causes"));
    let Some(Value::Array(causes)) =
        found.filter(|causes| causes.as_array().is_some_and(|all| all.len() > 1))
    else {
        return;
    };
    let mut told: Vec<String> = Vec::new();
    for cause in causes.iter() {
        let text = |name: &str| cause[name].as_str().unwrap_or_default();
        let one = format!("{}: {}", text("field"), text("message"));
        // A message says everything once.
        if !told.contains(&one) {
            told.push(one);
        }
    }
    for cause in causes
        .iter_mut()
        .filter(|cause| is_by_chance(cause["message"].as_str()))
    {
        cause["field"] = BY_CHANCE.into();
    }
    causes.sort_by_cached_key(Value::to_string);
    let Some(Value::String(message)) = status.get_mut("message") else {
        return;
    };
    let whole = format!("[{}]", told.join(", "));
    if let Some(start) = message.strip_suffix(whole.as_str()) {
        for one in told.iter_mut().filter(|one| is_by_chance(Some(one))) {
            BY_CHANCE.clone_into(one);
        }
        told.sort();
        *message = format!("{start}[{}]", told.join(", "));
    }
}

/// Whether several policies, bindings or parameters warn in a case: a real server has these in Go maps.
pub(crate) fn is_of_maps(case: &Case) -> bool {
    let many = |bindings: &Option<Value>| {
        let bindings = bindings.as_ref().and_then(Value::as_array);
        bindings.is_some_and(|all| {
            let selects = |binding: &Value| binding.pointer("/paramRef/selector").is_some();
            all.len() > 1 || all.iter().any(selects)
        })
    };
    case.policies.len() > 1 || case.policies.iter().any(|policy| many(&policy.bindings))
}

/// The steps of two outcomes that differ, by their numbers.
pub(crate) fn differing_steps(one: &Value, other: &Value) -> Vec<usize> {
    let steps = |outcome: &Value| outcome["steps"].as_array().cloned().unwrap_or_default();
    let (one, other) = (steps(one), steps(other));
    (0..one.len().max(other.len()))
        .filter(|at| one.get(*at) != other.get(*at))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_sorted_and_everything_else_stays() {
        let status = |first: &str, second: &str| {
            json!({"steps": [{
                "headers": {"warning": [first, second]},
                "body": {
                    "message": format!("x is invalid: [{first}: no, {second}: no]"),
                    "details": {"causes": [
                        {"field": first, "message": "no"}, {"field": second, "message": "no"}, {"field": first, "message": "no"},
                        {"field": second, "message": "no"},
                    ]},
                },
            }]})
        };
        assert_eq!(settled(&status("a", "b")), settled(&status("b", "a")));
        assert_ne!(settled(&status("a", "b")), settled(&status("a", "c")));
        assert_eq!(differing_steps(&status("a", "b"), &status("b", "a")), [0]);
        assert_eq!(settled(&json!({"items": [2, 1]})), json!({"items": [2, 1]}));
    }

    #[test]
    fn a_text_that_lists_errors_lists_them_in_one_order() {
        let text = |list: &str| settled(&json!(format!("no patch: errors:\n  {list}")));
        assert_eq!(text(".b: x\n  .a: y"), text(".a: y\n  .b: x"));
        assert_ne!(text(".b: x\n  .a: y"), text(".a: x\n  .b: y"));
    }

    #[test]
    fn of_rules_that_cost_alike_any_may_be_named() {
        let status = |named: &str| {
            let message = format!("Forbidden: {BY_CHANCE}");
            json!({
                "message": format!("x is invalid: [a: no, {named}: {message}]"),
                "details": {"causes": [{"field": "a", "message": "no"}, {"field": named, "message": message}]},
            })
        };
        assert_eq!(settled(&status("b")), settled(&status("c")));
        let mut other = status("b");
        other["details"]["causes"][0]["field"] = "b".into();
        assert_ne!(settled(&status("b")), settled(&other));
    }

    #[test]
    fn any_binding_that_allows_a_request_is_as_good_as_another() {
        let reason = |why: &str| settled(&json!({"body": {"status": {"reason": why}}}));
        let (one, other) = (
            "RBAC: allowed by ClusterRoleBinding \"a\"",
            "RBAC: allowed by RoleBinding \"b\"",
        );
        assert_eq!(reason(one), reason(other));
        assert_ne!(reason(one), reason(""));
    }
}
