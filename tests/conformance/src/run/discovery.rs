//! The path of a kind, as the server's own discovery gives it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::client::{Ask, Client};

/// What discovery said, by group and version.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    known: Mutex<HashMap<String, Value>>,
}

impl Discovery {
    /// The path of the collection that an object belongs to, in the namespace of the case unless it names another.
    pub(crate) async fn collection(
        &self,
        client: &Client,
        object: &Value,
        namespace: &str,
    ) -> Result<String> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        let group_version = text("/apiVersion").context("an object without apiVersion")?;
        let kind = text("/kind").context("an object without kind")?;
        let root = if group_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let resources = self
            .resources(client, &format!("/{root}/{group_version}"))
            .await?;
        let resource = resources
            .pointer("/resources")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .find(|resource| {
                let name = resource.get("name").and_then(Value::as_str).unwrap_or("/");
                resource.get("kind").and_then(Value::as_str) == Some(kind) && !name.contains('/')
            })
            .with_context(|| format!("the server knows no {kind} in {group_version}"))?;
        let plural = resource["name"].as_str().unwrap_or_default();
        if resource["namespaced"] == Value::Bool(true) {
            let namespace = text("/metadata/namespace").unwrap_or(namespace);
            Ok(format!(
                "/{root}/{group_version}/namespaces/{namespace}/{plural}"
            ))
        } else {
            Ok(format!("/{root}/{group_version}/{plural}"))
        }
    }

    async fn resources(&self, client: &Client, path: &str) -> Result<Value> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(path) {
            return Ok(known.clone());
        }
        let ask = Ask {
            method: "GET".into(),
            path: path.to_owned(),
            ..Ask::default()
        };
        let resources = client.send(ask).await?.body;
        known().insert(path.to_owned(), resources.clone());
        Ok(resources)
    }
}
