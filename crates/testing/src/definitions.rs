//! Custom resources, defined before a test begins.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use kubewright_manager::Program;
use serde_json::Value;

use crate::apply::apply;
use crate::eventually;
use crate::fail;
use crate::server::Server;

/// One definition for each resource: the versions of those that were asked for, or what a program converts.
pub(crate) fn merged(asked: Vec<Value>, programs: &[Program]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    let programs = programs.iter();
    let converted = programs.flat_map(|program| program.app().converted_definitions());
    for definition in converted.chain(asked) {
        let name = &definition["metadata"]["name"];
        let known = merged
            .iter_mut()
            .find(|known| known["metadata"]["name"] == *name);
        let Some(known) = known else {
            merged.push(definition);
            continue;
        };
        let versions = definition["spec"]["versions"].as_array();
        for version in versions.into_iter().flatten() {
            add_version(known, version);
        }
    }
    merged
}

fn add_version(definition: &mut Value, version: &Value) {
    let Some(versions) = definition["spec"]["versions"].as_array_mut() else {
        return;
    };
    if versions
        .iter()
        .all(|known| known["name"] != version["name"])
    {
        let mut version = version.clone();
        version["storage"] = false.into();
        versions.push(version);
    }
}

/// The definitions in the files of a folder, in the order of their names.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<Value>, String> {
    let cannot = |path: &Path, error: &dyn fmt::Display| {
        format!("cannot read the definitions in {}: {error}", path.display())
    };
    let entries = folder.read_dir().map_err(|error| cannot(folder, &error))?;
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let files: Result<Vec<PathBuf>, _> = files.collect();
    let mut files = files.map_err(|error| cannot(folder, &error))?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
    });
    files.sort();
    let mut found = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|error| cannot(&path, &error))?;
        let objects: Vec<Value> =
            serde_saphyr::from_multiple(&text).map_err(|error| cannot(&path, &error))?;
        found.extend(objects.into_iter().filter(is_one));
    }
    if found.is_empty() {
        return Err(cannot(folder, &"there are none"));
    }
    Ok(found)
}

/// Whether an object is a definition.
pub(crate) fn is_one(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}

/// Writes a definition that is established already; when this is done, the server goes by it.
pub(crate) async fn change(client: &Client, definition: &Value, server: Server) {
    establish(client, definition).await;
    if server != Server::Embedded {
        // Nothing tells when a real server goes by a definition that has changed.
        tokio::time::sleep(NOTICED).await;
    }
}

const NOTICED: Duration = Duration::from_millis(500);

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
