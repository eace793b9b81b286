//! Which objects of programs under test are policies.

use serde_json::Value;

/// Whether an object is a policy, or a binding of one.
pub(crate) fn is_one(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    kind.strip_suffix("Binding")
        .unwrap_or(kind)
        .ends_with("AdmissionPolicy")
}

/// The objects by which it shows whether the API server goes by all of these: of the bindings of policies, the last of each kind.
pub(crate) fn telling(objects: &[Value]) -> impl Iterator<Item = &Value> {
    let places = objects.iter().enumerate();
    places.filter_map(|(place, object)| {
        let is_same = |later: &Value| later["kind"] == object["kind"];
        (!is_one(object) || !objects[place + 1..].iter().any(is_same)).then_some(object)
    })
}
