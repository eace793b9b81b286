//! Everything in a cluster, to compare it before and after a command.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::discovery::{Discovery, verbs};
use serde_json::Value;

/// Every object by its kind and name, without the numbers that every write changes.
///
/// A definition that was deleted is finalized after the answer: it is waited for.
pub(crate) async fn snapshot(client: &Client) -> BTreeMap<String, Value> {
    loop {
        if let Some(all) = without_deleted_definitions(client).await {
            return all;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Nothing as long as a definition is being deleted.
async fn without_deleted_definitions(client: &Client) -> Option<BTreeMap<String, Value>> {
    let mut all = BTreeMap::new();
    let discovery = Discovery::new(client.clone())
        .run()
        .await
        .expect("discovery");
    let groups = discovery.groups();
    let kinds = groups.flat_map(kube::discovery::ApiGroup::recommended_resources);
    for (resource, capabilities) in kinds {
        if !capabilities.supports_operation(verbs::LIST) || resource.kind == "Event" {
            continue;
        }
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let list = match api.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return None,
            list => list.expect("a list"),
        };
        for object in list.items {
            let is_deleted = object.metadata.deletion_timestamp.is_some();
            if is_deleted && resource.kind == "CustomResourceDefinition" {
                return None;
            }
            let mut object = serde_json::to_value(object).expect("JSON");
            let metadata = object["metadata"].as_object_mut().expect("metadata");
            metadata.remove("resourceVersion");
            metadata.remove("generation");
            let metadata = &object["metadata"];
            let (namespace, name) = (&metadata["namespace"], &metadata["name"]);
            all.insert(format!("{} {namespace}/{name}", resource.kind), object);
        }
    }
    Some(all)
}

/// The same, once the controllers beside the API server have nothing left to do.
pub(crate) async fn settled(client: &Client) -> BTreeMap<String, Value> {
    let mut last = snapshot(client).await;
    loop {
        let next = snapshot(client).await;
        if next == last {
            return next;
        }
        last = next;
    }
}

/// Fails with the names of what differs.
pub(crate) fn assert_same(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
    when: &str,
) {
    let names = before.keys().chain(after.keys());
    for name in names {
        let (before, after) = (before.get(name), after.get(name));
        assert_eq!(before, after, "{name} differs {when}");
    }
}
