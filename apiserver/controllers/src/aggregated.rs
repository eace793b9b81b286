//! The resources that aggregated API servers have in namespaces, as the namespace controller discovers them.

use std::collections::BTreeMap;

use kubewright_apimachinery::view::View as _;
use kubewright_storage::At;
use serde_json::{Value, json};

use super::client::{Failure, Who};
use super::work::Context;

/// The table of APIServices.
pub(super) const TABLE: &str = "apiservices.apiregistration.k8s.io";

/// What is known of the resources of other API servers.
#[derive(Debug, Default)]
pub(super) struct Discovered {
    pub(super) resources: Vec<Aggregated>,
    /// Why the resources of a version are not known, by group and version.
    failing: BTreeMap<String, String>,
}

/// A resource of another API server whose objects can be deleted.
#[derive(Debug)]
pub(super) struct Aggregated {
    group: String,
    version: String,
    plural: String,
    /// Whether all objects of a namespace are deleted by one request.
    by_collection: bool,
}

/// Asks all aggregated API servers which resources they have.
pub(super) async fn discover(cx: &Context, who: Who<'_>) -> Discovered {
    let listed = cx.store.list(TABLE, "", "", usize::MAX, At::Now);
    let objects = listed.map(|listed| listed.objects).unwrap_or_default();
    let mut found = Discovered::default();
    for object in objects.iter().map(|object| object.value()) {
        let spec = object.at("spec");
        if !spec.has("service") {
            continue;
        }
        let (group, version) = (spec.text("group"), spec.text("version"));
        let path = format!("/apis/{group}/{version}");
        let answer = if is_available(&object) {
            cx.client.get(who, &path).await.ok()
        } else {
            None
        };
        if let Some(list) = answer {
            found.add(group, version, &list);
        } else {
            let name = format!("{group}/{version}");
            let why = format!("stale GroupVersion discovery: {name}");
            found.failing.insert(name, why);
        }
    }
    found
}

fn is_available(object: &Value) -> bool {
    let mut conditions = object.at("status").list("conditions").iter();
    conditions.any(|it| it.text("type") == "Available" && it.text("status") == "True")
}

impl Discovered {
    fn add(&mut self, group: &str, version: &str, list: &Value) {
        for resource in list.list("resources") {
            let allows = |verb: &str| resource.list("verbs").iter().any(|known| known == verb);
            let name = resource.text("name");
            let is_part = name.contains('/');
            if is_part || !resource.flag("namespaced") || !allows("delete") || !allows("list") {
                continue;
            }
            self.resources.push(Aggregated {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: name.to_owned(),
                by_collection: allows("deletecollection"),
            });
        }
    }

    /// What the condition of a namespace says of versions that did not answer.
    pub(super) fn failure(&self) -> Option<String> {
        if self.failing.is_empty() {
            return None;
        }
        let said = self
            .failing
            .iter()
            .map(|(name, why)| format!("{name}: {why}"));
        let said: Vec<String> = said.collect();
        Some(format!(
            "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
            said.len(),
            said.join(", ")
        ))
    }
}

impl Aggregated {
    /// The name of the resource in the status of a namespace.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Deletes the objects of a namespace, and returns those that remain.
    ///
    /// # Errors
    /// The server refuses it, or does not answer.
    pub(super) async fn delete_all(
        &self,
        cx: &Context,
        who: Who<'_>,
        namespace: &str,
    ) -> Result<Vec<Value>, Failure> {
        let Self {
            group,
            version,
            plural,
            ..
        } = self;
        let path = format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}");
        let options = json!({"propagationPolicy": "Background"});
        let items = async || {
            let list = cx.client.get(who, &path).await?;
            Ok(list.list("items").to_vec())
        };
        let there: Vec<Value> = items().await?;
        if there.is_empty() {
            return Ok(there);
        }
        if self.by_collection {
            cx.client.delete(who, &path, &options).await?;
        } else {
            for object in &there {
                let name = object.at("metadata").text("name");
                let path = format!("{path}/{name}");
                cx.client.delete(who, &path, &options).await?;
            }
        }
        items().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_resources_of_namespaces_that_can_be_deleted_are_found() {
        let mut found = Discovered::default();
        let resource = |name: &str, namespaced: bool, verbs: &[&str]| json!({"name": name, "namespaced": namespaced, "verbs": verbs});
        let list = json!({"resources": [
            resource("cats", true, &["delete", "list"]),
            resource("cats/status", true, &["delete", "list"]),
            resource("zoos", false, &["delete", "list"]),
            resource("prices", true, &["list"]),
        ]});
        found.add("example.com", "v1", &list);
        let names: Vec<String> = found.resources.iter().map(Aggregated::name).collect();
        assert_eq!(names, ["cats.example.com"]);
        assert_eq!(found.failure(), None);
    }
}
