//! Defaults of CustomResourceDefinitions (spec section D.2).

use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

pub(super) fn apply(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        if let Some(names) = spec.part("names") {
            let kind = names.text("kind").to_owned();
            if !kind.is_empty() {
                names.fill_text("singular", &kind.to_lowercase());
                names.fill_text("listKind", &format!("{kind}List"));
            }
        }
        spec.fill("conversion", json!({ "strategy": "None" }));
        let service = spec
            .existing("conversion")
            .and_then(|conversion| conversion.existing("webhook"))
            .and_then(|webhook| webhook.existing("clientConfig"))
            .and_then(|client| client.existing("service"));
        if let Some(service) = service {
            service.fill("port", 443);
        }
    }
    let stored = storage_version(object).map(str::to_owned);
    if let Some(status) = object.part("status")
        && status.list("storedVersions").is_empty()
        && let Some(stored) = stored
    {
        status.put("storedVersions", vec![stored]);
    }
}

/// The version in whose form the objects are stored.
pub(super) fn storage_version(definition: &Value) -> Option<&str> {
    let versions = definition.at("spec").list("versions").iter();
    let mut stored = versions.filter(|version| version.flag("storage"));
    stored.next().map(|version| version.text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_kind_if_there_is_one() {
        let names = |kind: &str| {
            let mut object = json!({ "spec": { "names": { "kind": kind } } });
            apply(&mut object);
            object["spec"]["names"].take()
        };
        assert_eq!(
            names("WhiteList"),
            json!({ "kind": "WhiteList", "listKind": "WhiteListList", "singular": "whitelist" })
        );
        assert_eq!(names(""), json!({ "kind": "" }));
    }
}
