//! A DELETE of an object that cannot be read: `ignoreStoreReadErrorWithClusterBreakingPotential`.
//!
//! It passes over finalizers, preconditions and admission, so that it needs a permission of its own, and is refused for objects
//! that can be read.

use http::{Response, StatusCode};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_auth::{About, Decision, Question};
use kubewright_storage::{Draft, Raced};
use serde_json::json;

use super::answer;
use super::call::Call;
use super::commit::committed;
use super::delete_options::{DeleteOptions, IGNORES_READ_ERRORS};
use super::update;
use crate::body::Body;

/// Refuses the option for a collection.
pub(crate) fn refuse_collection(options: &DeleteOptions) -> Result<()> {
    if !options.ignores_read_errors {
        return Ok(());
    }
    let path = Path::new(IGNORES_READ_ERRORS);
    let detail = "is not allowed with DELETECOLLECTION, try again after removing the option";
    let error = FieldError::invalid(&path, true, detail);
    Err(Status::invalid(
        "meta.k8s.io",
        "DeleteOptions",
        "",
        &[error],
    ))
}

/// Removes the object that the path names, if it cannot be read.
pub(crate) async fn delete(call: &Call, options: &DeleteOptions) -> Result<Response<Body>> {
    let annotation = "apiserver.k8s.io/unsafe-delete-ignore-read-error";
    call.notes.annotate(annotation, "");
    authorize(call)?;
    let name = &call.path.name;
    let store = &call.shared.store;
    loop {
        let stored = call.stored()?;
        if call.value_to_write(&stored).await.is_ok() {
            let key = update::storage_key(call, name);
            return Err(call.conflict(
                name,
                &format!(
                    "StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, \
                     AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage"
                ),
            ));
        }
        if options.dry_run {
            break;
        }
        store.write_latency().await;
        let (table, path, expected) = (&call.table, &stored.path, stored.revision);
        let gone = store.delete(table, path, expected, Draft::new(&stored.value()));
        match committed(gone)? {
            Ok(_) => break,
            Err(Raced(_)) => tokio::task::yield_now().await,
        }
    }
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": { "name": name, "kind": call.resource.kind },
        "code": 200,
    });
    Ok(answer::value(
        StatusCode::OK,
        &call.output.of_the_object(),
        &status,
    ))
}

fn authorize(call: &Call) -> Result<()> {
    let verb = "unsafe-delete-ignore-read-errors";
    let (group, resource, name) = (&call.resource.group, &call.resource.plural, &call.path.name);
    let question = Question {
        user: &call.user,
        verb,
        about: About::Resource {
            group,
            resource,
            subresource: "",
            namespace: &call.path.namespace,
            name,
            fields: None,
        },
    };
    match call.shared.access.authorizer.decide(&question) {
        Decision::Allow(_) => Ok(()),
        Decision::NoOpinion(why) => {
            let why = format!("not permitted to do {}, reason: {why}", quoted(verb));
            Err(Status::forbidden(group, resource, name, &why))
        }
    }
}
