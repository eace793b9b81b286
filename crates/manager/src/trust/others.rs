//! Who else writes an object.

use serde_json::Value;

/// Returns the field manager that wrote a `caBundle` of an object after the program did. Removals are not attributed:
/// `managedFields` do not record them.
pub(crate) fn last_writer(object: &Value, program: &str) -> Option<String> {
    let managers = object["metadata"]["managedFields"].as_array()?;
    // Times in this form are in the order of their letters. They are whole seconds.
    let time = |one: &Value| one["time"].as_str().unwrap_or_default().to_owned();
    let own = managers.iter().filter(|one| one["manager"] == program);
    let own = own.map(time).max();
    let others = managers.iter().filter(|one| {
        let has_written = mentions(&one["fieldsV1"], "f:caBundle");
        has_written && one["manager"] != program && own.as_ref().is_none_or(|own| time(one) >= *own)
    });
    let last = others.max_by_key(|one| time(one))?;
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
        let writer = |managers: &[&Value]| {
            let object = json!({"metadata": {"managedFields": managers}});
            last_writer(&object, "policy")
        };
        let own = |time: &str| entry("policy", time, &bundle);
        let (before, after) = (own("2026-01-02T03:04:05Z"), own("2026-01-02T03:04:08Z"));
        let name = Some("kubectl-edit".to_owned());
        assert_eq!(writer(&[&helm, &editor, &labels, &before]), name);
        assert_eq!(writer(&[&helm, &editor]), name);
        // A field manager that wrote before the program has not undone the program's write.
        assert_eq!(writer(&[&helm, &editor, &after]), None);
        assert_eq!(writer(&[&labels, &before]), None);
        assert_eq!(last_writer(&json!({}), "policy"), None);
    }
}
