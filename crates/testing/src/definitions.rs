//! Custom resources, defined before a test begins.

use kube::Client;
use serde_json::Value;

use crate::apply::apply;
use crate::eventually;
use crate::fail;

/// Writes a definition and waits until it is established.
pub(crate) async fn establish(client: &Client, definition: &Value) {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let mut definition = definition.clone();
    definition["apiVersion"] = "apiextensions.k8s.io/v1".into();
    definition["kind"] = "CustomResourceDefinition".into();
    if let Err(error) = apply(client, "", &definition).await {
        fail(format_args!("cannot define {name}: {error}"));
    }
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let what = format!("the definition {name}");
    eventually(&what, async || {
        let request = http::Request::get(&path).body(Vec::new()).ok()?;
        let found: Value = client.request(request).await.ok()?;
        is_established(&found).then_some(())
    })
    .await;
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|known| known["type"] == "Established" && known["status"] == "True")
}
