//! What kubectl itself refuses before it asks the API server.

use kubewright_apimachinery::conform::conform;
use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::{Value, json};

use crate::cluster::Answer;
use crate::manifest::Manifest;

/// Refuses metadata that kubectl cannot decode: it has to know the name and the namespace.
pub(crate) fn undecodable_metadata(manifest: &Manifest) -> Option<Answer> {
    // Any kind has the same metadata, and this one has little else.
    let namespace = GroupVersionKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
    };
    let metadata = manifest.object.get("metadata")?;
    let mut object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    let why = conform(&namespace, &mut object).err()?;
    let why = why.replace(
        "struct field Namespace.",
        "struct field metadataOnlyObject.",
    );
    Some(refused(&why))
}

/// Refuses an object without a name, for which there is nothing to compare it with.
pub(crate) fn nameless(manifest: &Manifest) -> Option<Answer> {
    let metadata = manifest.object.get("metadata");
    let generated = metadata.and_then(|metadata| metadata.get("generateName"));
    // `kubectl create` takes it.
    let generated = generated.and_then(Value::as_str).unwrap_or_default();
    (manifest.name().is_empty() && generated.is_empty())
        .then(|| refused("resource name may not be empty"))
}

fn refused(why: &str) -> Answer {
    Answer {
        status: http::StatusCode::BAD_REQUEST,
        body: json!({ "kind": "Status", "message": why }),
        warnings: Vec::new(),
    }
}
