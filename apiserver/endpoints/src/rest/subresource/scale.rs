//! `scale`: the replicas of a workload as an `autoscaling/v1 Scale`.

use http::{Response, StatusCode};
use kubewright_admission::Operation;
use kubewright_apiextensions::custom::{Custom, Scale, Version, scale};
use kubewright_apimachinery::accessor::{meta_text, metadata, metadata_mut};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_fieldmanagement as managed_fields;
use kubewright_fieldmanagement::Places;
use kubewright_storage::{Raced, ReadBack};
use serde_json::Value;

use crate::body::Body;
use crate::rest::call::Call;
use crate::rest::decode::{self, Decoded};
use crate::rest::metadata::settle_namespace;
use crate::rest::patch::{self, Patch};
use crate::rest::query::WriteOptions;
use crate::rest::{answer, corrupt, tracking, update, write};

/// Answers the scale of the object.
pub(super) async fn get(call: &Call) -> Result<Response<Body>> {
    let stored = call.stored()?;
    let object = call.value(&stored).await;
    let object = object
        .map_err(|failure| corrupt::got(&call.resource, &call.key(&call.path.name), failure))?;
    if let Some(paths) = paths(call) {
        let (scale, is_there) = scale::read(paths, &object).map_err(Status::plain)?;
        if !is_there {
            let path = quoted(&paths.spec_replicas);
            let why = format!("the spec replicas field {path} does not exist");
            return Err(Status::internal(&why));
        }
        return Ok(shown(call, &scale));
    }
    let scale = kubewright_registry::scale::read(&call.resource, &object);
    Ok(shown(call, &scale))
}

/// Replaces the scale.
pub(super) async fn update(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "UpdateOptions")?;
    let mut wanted = decode::body(call, &kind(), &options)?;
    call.audit(&kind(), &wanted.object);
    update::check_name(call, &mut wanted.object)?;
    settle_namespace(call, &mut wanted.object)?;
    change(call, &options, |current| {
        update::check_uid(call, &wanted.object, current, options.dry_run)?;
        Ok(wanted.clone())
    })
    .await
}

/// Patches the scale.
pub(super) async fn patch(call: &Call) -> Result<Response<Body>> {
    patch::check_type(call)?;
    let options = patch::options(call)?;
    let patch = Patch::read(call, &options);
    patch.check_readable(call)?;
    call.audit_patch();
    let kind = kind();
    change(call, &options, |current| {
        let mut decoded = patch.apply(call, &kind, &options, current)?;
        patch::check_place(call, &mut decoded.object)?;
        Ok(decoded)
    })
    .await
}

async fn change(
    call: &Call,
    options: &WriteOptions,
    next: impl Fn(&Value) -> Result<Decoded>,
) -> Result<Response<Body>> {
    let name = &call.path.name;
    loop {
        let stored = call.stored()?;
        let old = call.value(&stored).await?;
        let mut current = current(call, &old)?;
        let version = call.resource.api_version();
        let places = places(call);
        let owners = metadata(&old).get("managedFields").unwrap_or(&Value::Null);
        put_owners(&mut current, managed_fields::to_scale(owners, &places));
        let mut attributes = call.attributes(Operation::Update, options.to_value("UpdateOptions"));
        attributes.kind = kind();
        attributes.dry_run = options.dry_run;
        let Decoded {
            object,
            empties,
            timed,
        } = next(&current)?;
        attributes.object = object;
        attributes.empties = empties;
        attributes.timed = timed;
        attributes.old_object = current;
        tracking::mutate(call, options, &mut attributes).await?;
        let scale = &attributes.object;
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
        if let Some(paths) = paths(call) {
            if replicas == NOT_SET {
                let path = quoted(&paths.spec_replicas);
                let why = format!("the spec replicas field {path} cannot be empty");
                return Err(Status::bad_request(why));
            }
        } else if replicas < 0 {
            let path = Path::new("spec.replicas");
            let error = FieldError::invalid(&path, replicas, "must be greater than or equal to 0");
            return Err(Status::invalid("autoscaling", "Scale", name, &[error]));
        } else {
            check_identity(call, scale, &attributes.old_object)?;
        }
        let said = meta_text(scale, "resourceVersion");
        if !matches!(said, "" | "0") && said.parse() != Ok(stored.revision) {
            return Err(write::modified(call));
        }
        let mut new = old.clone();
        write(call, &mut new, scale);
        let owners_of_scale = metadata(scale).get("managedFields");
        let owners_of_scale = owners_of_scale.unwrap_or(&Value::Null);
        put_owners(
            &mut new,
            managed_fields::to_parent(owners, owners_of_scale, &version, &places),
        );
        call.resource.prepare_for_update("", &mut new, &old);
        if call.resource.strategy.is_unstructured() {
            let errors = call.told(call.resource.validate_update("", &new, &old));
            if !errors.is_empty() {
                return Err(call.invalid(name, &errors));
            }
        }
        for warning in call.resource.strategy.warnings(&new, &old) {
            call.notes.warn(&warning);
        }
        let workload = call.kind();
        tracking::keep_times(&workload, &mut new, &old);
        // Validating admission sees the scale of the workload as it would be, not what the client sent.
        attributes.object = read(call, &new)?;
        attributes.empties = false;
        put_owners(&mut attributes.old_object, None);
        call.validate(&attributes).await?;
        match write::store(call, options.dry_run, &new, ReadBack::AsStored, &stored).await? {
            Ok(written) => {
                let written = written.value(call).await?;
                return Ok(shown(call, &read(call, &written)?));
            }
            Err(Raced(_)) => tokio::task::yield_now().await,
        }
    }
}

/// A scale that says whose it is is that of the workload.
fn check_identity(call: &Call, scale: &Value, old: &Value) -> Result<()> {
    let [said, actual] = [scale, old].map(|object| meta_text(object, "uid"));
    if said.is_empty() || said == actual {
        return Ok(());
    }
    let (group, name) = (&call.resource.group, &call.path.name);
    let resource = format!("{}/scale", call.resource.plural);
    let why =
        format!("Precondition failed: UID in precondition: {said}, UID in object meta: {actual}");
    Err(Status::conflict(group, &resource, name, &why))
}

/// Where the definition of a custom resource puts the members of its scale.
fn paths(call: &Call) -> Option<&Scale> {
    Custom::of(&call.resource)?.scale.as_ref()
}

/// Where each version has the replicas.
fn places(call: &Call) -> Places<'_> {
    let Some(custom) = Custom::of(&call.resource) else {
        let version = call.resource.api_version();
        return Places::from([(version, Some(kubewright_fieldmanagement::REPLICAS))]);
    };
    let group = &custom.definition.group;
    let mut places = Places::new();
    for Version { name, scale, .. } in &custom.definition.versions {
        let place = scale.as_ref().map(|scale| scale.spec_replicas.as_str());
        places.insert(format!("{group}/{name}"), place);
    }
    places
}

/// The number of replicas that says that a custom object has none: no client can mean it.
const NOT_SET: i64 = i32::MIN as i64;

/// The scale before a change.
fn current(call: &Call, object: &Value) -> Result<Value> {
    let Some(paths) = paths(call) else {
        return read(call, object);
    };
    let (mut scale, is_there) = scale::read(paths, object).map_err(Status::plain)?;
    if !is_there {
        scale["spec"]["replicas"] = NOT_SET.into();
    }
    Ok(scale)
}

fn read(call: &Call, object: &Value) -> Result<Value> {
    match paths(call) {
        Some(paths) => {
            let (scale, _) = scale::read(paths, object).map_err(Status::plain)?;
            Ok(scale)
        }
        None => Ok(kubewright_registry::scale::read(&call.resource, object)),
    }
}

fn write(call: &Call, object: &mut Value, scale: &Value) {
    match paths(call) {
        Some(paths) => scale::write(paths, object, scale),
        None => kubewright_registry::scale::write(object, scale),
    }
}

fn put_owners(object: &mut Value, owners: Option<Value>) {
    let metadata = metadata_mut(object);
    match owners {
        Some(owners) => metadata.insert("managedFields".to_owned(), owners),
        None => metadata.remove("managedFields"),
    };
}

fn kind() -> GroupVersionKind {
    GroupVersionKind {
        group: "autoscaling".to_owned(),
        version: "v1".to_owned(),
        kind: "Scale".to_owned(),
    }
}

fn shown(call: &Call, scale: &Value) -> Response<Body> {
    answer::value(StatusCode::OK, &call.output.of_the_object(), scale)
}
