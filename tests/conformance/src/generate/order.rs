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
        Value::String(why) if is_allowed(why) => ALLOWED.into(),
        Value::String(why) => errors_of_apply(why).map_or_else(|| outcome.clone(), Value::from),
        other => other.clone(),
    }
}

const ALLOWED: &str = "RBAC: allowed by ";

/// Whether it says which binding allows a request. Of several, a real server names the one that a Go map has first: most often the same.
fn is_allowed(why: &str) -> bool {
    why.starts_with(ALLOWED)
}

/// An outcome in which every binding that allows a request is the same.
fn without_bindings(outcome: &Value) -> Value {
    match outcome {
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, value)| (name.clone(), without_bindings(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_bindings).collect(),
        Value::String(why) if is_allowed(why) => ALLOWED.into(),
        other => other.clone(),
    }
}

const LISTED: &str = "errors:\n  ";
const BETWEEN: &str = "\n  ";
/// What stands before a single error, which begins with a path.
const ONE: &str = "): .";
const UNDECLARED: &str = ": field not declared in schema";

/// What server-side apply says, with its errors sorted: its library walks through Go maps. It leaves a map at the first field that is
/// not declared, so that all that it says of a map with such a field is by chance.
fn errors_of_apply(why: &str) -> Option<String> {
    let (what, errors) = if let Some((what, errors)) = why.split_once(LISTED) {
        (what, errors.split(BETWEEN).collect())
    } else {
        let end = why.find(ONE)? + ONE.len() - 1;
        (&why[..end], vec![&why[end..]])
    };
    let parent = |error: &str| {
        let path = error.strip_suffix(UNDECLARED)?;
        path.rsplit_once('.').map(|(parent, _)| parent.to_owned())
    };
    let left: Vec<String> = errors.iter().filter_map(|error| parent(error)).collect();
    let is_by_chance = |error: &str| left.iter().any(|parent| error.starts_with(parent));
    let certain = errors.iter().filter(|error| !is_by_chance(error));
    let mut told: Vec<String> = certain.map(|&error| error.to_owned()).collect();
    told.extend(left.iter().map(|parent| format!("{parent}{UNDECLARED}")));
    told.sort();
    told.dedup();
    Some(format!("{what}{LISTED}{}", told.join(BETWEEN)))
}

/// Of rules that cost alike, a real server names four by chance as those that cost most.
const BY_CHANCE: &str =
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";

fn is_by_chance(message: Option<&str>) -> bool {
    message.is_some_and(|message| message.ends_with(BY_CHANCE))
}

/// What a policy says in a cause: it names no field.
fn of_policy(cause: &Value) -> Option<String> {
    let message = cause["message"].as_str()?;
    (cause.get("field").is_none() && message.starts_with("policy ")).then(|| message.to_owned())
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
    let of_policies: Vec<String> = causes.iter().filter_map(of_policy).collect();
    causes.sort_by_cached_key(Value::to_string);
    let first = causes.first().and_then(of_policy);
    let Some(Value::String(message)) = status.get_mut("message") else {
        return;
    };
    // The message of a refusal is that of the policy that a Go map has first.
    if let Some(first) = first.filter(|_| of_policies.contains(message)) {
        *message = first;
    }
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

/// The steps of two outcomes that differ in more than which binding allows a request, by their numbers.
pub(crate) fn differing_steps(one: &Value, other: &Value) -> Vec<usize> {
    let steps = |outcome: &Value| -> Vec<Value> {
        let steps = outcome["steps"].as_array().into_iter().flatten();
        steps.map(without_bindings).collect()
    };
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
    fn what_is_found_before_a_field_that_is_not_declared_is_chance() {
        let said = |errors: &str| settled(&json!(format!("no patch (/v1): {errors}")));
        let (alone, type_of_a) = (
            ".n: field not declared in schema",
            ".a.b: expected string, got 1",
        );
        let with_type = format!("errors:\n  {type_of_a}\n  {alone}");
        assert_eq!(said(&with_type), said(alone));
        assert_ne!(said(type_of_a), said(alone));
        let inside = ".s.n: field not declared in schema";
        let around = format!("errors:\n  {type_of_a}\n  {inside}");
        assert_ne!(said(&around), said(inside));
        assert_eq!(
            said(&format!("errors:\n  .s.t: no\n  {inside}")),
            said(inside)
        );
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
    fn of_policies_that_refuse_any_may_be_the_first() {
        let status = |named: &str| {
            let told = |policy: &str| format!("policy '{policy}' denied request: no");
            let causes = [json!({"message": told("b")}), json!({"message": told("a")})];
            settled(&json!({"message": told(named), "details": {"causes": causes}}))
        };
        assert_eq!(status("a"), status("b"));
        assert_ne!(status("a"), status("c"));
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
        let steps = |why: &str, code: u16| json!({"steps": [{}, {"code": code, "body": {"status": {"reason": why}}}]});
        assert!(differing_steps(&steps(one, 200), &steps(other, 200)).is_empty());
        assert_eq!(differing_steps(&steps(one, 200), &steps(other, 201)), [1]);
        assert_eq!(differing_steps(&steps(one, 200), &steps("", 200)), [1]);
    }
}
