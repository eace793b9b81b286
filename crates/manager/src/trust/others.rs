//! Who else writes an object.

use serde_json::Value;

/// Who was the last to write an object, of all but the program itself: of those who have written a `caBundle`, if there are
/// any. They are known by the names that they give themselves.
pub(crate) fn last_writer(object: &Value, program: &str) -> Option<String> {
    let managers = object["metadata"]["managedFields"].as_array()?;
    let others = managers.iter().filter(|one| one["manager"] != program);
    let last = others.max_by_key(|one| {
        let writes_bundles = mentions(&one["fieldsV1"], "f:caBundle");
        // Times in this form are in the order of their letters.
        (writes_bundles, one["time"].as_str().unwrap_or_default())
    })?;
    last["manager"].as_str().map(str::to_owned)
}

fn mentions(fields: &Value, name: &str) -> bool {
    let Some(fields) = fields.as_object() else {
        return false;
    };
    let mut fields = fields.iter();
    fields.any(|(field, inside)| field == name || mentions(inside, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_one_who_wrote_a_bundle_is_named() {
        let bundle =
            json!({"f:webhooks": {"k:{\"name\":\"a\"}": {"f:clientConfig": {"f:caBundle": {}}}}});
        let entry = |manager: &str, time: &str, fields: &Value| json!({"manager": manager, "time": time, "fieldsV1": fields});
        let helm = entry("helm", "2026-01-02T03:04:05Z", &bundle);
        let editor = entry("kubectl-edit", "2026-01-02T03:04:06Z", &bundle);
        let labels = entry(
            "labeller",
            "2026-01-02T03:04:07Z",
            &json!({"f:metadata": {}}),
        );
        let own = entry("policy", "2026-01-02T03:04:08Z", &bundle);
        let writer = |managers: &[&Value]| {
            let object = json!({"metadata": {"managedFields": managers}});
            last_writer(&object, "policy")
        };
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(
            writer(&[&helm, &editor, &labels, &own]),
            name("kubectl-edit")
        );
        assert_eq!(writer(&[&labels, &own]), name("labeller"));
        assert_eq!(writer(&[&own]), None);
        assert_eq!(last_writer(&json!({}), "policy"), None);
    }
}
