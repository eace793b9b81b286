//! Kinds that other projects define: on an API server of its own, a program finds them defined. A cluster that is there has them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kube::Client;
use kubewright_testing::apply;

use super::demo::read_documents;
use super::wait;
use crate::current::DEFINITION;
use crate::failure::Outcome;

/// Defines what the files in the folder `crds` of a project define, if there is one, and waits until it can be used.
pub(crate) async fn define(client: &Client, project: &Path) -> Outcome {
    let folder = project.join("crds");
    if !folder.is_dir() {
        return Ok(());
    }
    let cannot = || format!("cannot read {}", folder.display());
    let entries = folder.read_dir().with_context(cannot)?;
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_, _>>().with_context(cannot)?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
    });
    files.sort();
    for path in files {
        let mut definitions = read_documents(&path)?;
        definitions.retain(|object| object["kind"] == DEFINITION);
        for definition in definitions {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            let applied = apply(client, "default", &definition).await;
            applied.with_context(|| format!("the API server refused the definition {name}"))?;
            wait::for_definition(client, &definition).await?;
        }
    }
    Ok(())
}
