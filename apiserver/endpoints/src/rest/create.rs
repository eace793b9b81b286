//! POST: a new object, in the order of spec section A.2.1.

use std::sync::Arc;

use http::{Response, StatusCode};
use kubewright_admission::{Attributes, Operation};
use kubewright_apimachinery::accessor::{meta_text, metadata_mut};
use kubewright_apimachinery::conform::Medium;
use kubewright_apimachinery::names::generate;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use kubewright_auth::{About, Question, rbac::escalation};
use kubewright_registry::services;
use kubewright_registry::{Creation, Verb};
use kubewright_storage::{Draft, Object, Raced, ReadBack};
use serde_json::Value;

use super::addresses::Allocation;
use super::answer::{self, Shown};
use super::call::Call;
use super::commit::committed;
use super::decode::{self, Decoded};
use super::metadata::{
    Stage, clear_owned, dedup_owners, fill_identity, is_deleting, settle_namespace,
};
use super::query::WriteOptions;
use super::write::{self, no_number};
use super::{devices, policy_parameters, tracking};
use crate::body::Body;

/// Creates the object in the body.
pub(crate) async fn create(call: &Call) -> Result<Response<Body>> {
    if !call.resource.serves(Verb::Create) {
        return Err(Status::method_not_allowed());
    }
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let kind = call.kind();
    let mut decoded = decode::body(call, &kind, &options)?;
    call.resource.default(&mut decoded.object);
    call.audit(&kind, &decoded.object);
    let shown = admit_and_store(call, &options, decoded).await?;
    answer::object(call, StatusCode::CREATED, &shown).await
}

/// Takes a decoded and defaulted object through admission into the store.
pub(crate) async fn admit_and_store(
    call: &Call,
    options: &WriteOptions,
    decoded: Decoded,
) -> Result<Shown> {
    let Decoded {
        mut object,
        empties,
        ..
    } = decoded;
    // Admission sees what an update or a patch says that creates.
    let is_create = call.path.name.is_empty();
    if is_create {
        clear_owned(&mut object);
    }
    settle_namespace(call, &mut object)?;
    dedup_owners(&mut object, Stage::Received, &call.notes);
    let mut attributes = call.attributes(Operation::Create, options.to_value("CreateOptions"));
    attributes.dry_run = options.dry_run;
    attributes.name = meta_text(&object, "name").to_owned();
    if call.is_about_namespaces() {
        attributes.namespace.clone_from(&attributes.name);
    }
    refuse_while_terminating(call, &attributes.name)?;
    attributes.object = object;
    attributes.empties = empties;
    tracking::mutate_to_store(call, options, &mut attributes).await?;
    if !is_create {
        clear_owned(&mut attributes.object);
    }
    dedup_owners(&mut attributes.object, Stage::Mutated, &call.notes);
    escalation::check(&call.escalation(), &attributes.object, &Value::Null)?;
    let version = meta_text(&attributes.object, "resourceVersion");
    if !call.path.name.is_empty() && !version.is_empty() && version.parse::<u64>().is_err() {
        return Err(no_number(version));
    }
    store(call, options, attributes).await
}

/// Names, prepares, validates and writes the object; a generated name is tried again when it is taken.
async fn store(call: &Call, options: &WriteOptions, mut attributes: Attributes) -> Result<Shown> {
    const ATTEMPTS: usize = 8;
    let object = &mut attributes.object;
    settle_namespace(call, object)?;
    let base = meta_text(object, "generateName").to_owned();
    let generated = meta_text(object, "name").is_empty() && !base.is_empty();
    fill_identity(object);
    if generated {
        metadata_mut(object).insert("name".to_owned(), generate(&base).into());
    }
    prepare(call, object);
    let unnamed = attributes.name.is_empty();
    // What cannot be given is refused before anything else is looked at.
    let allocation = Allocation::take(call, object, None)?;
    let (mut attempt, mut read_back) = (0, ReadBack::AsStored);
    loop {
        attempt += 1;
        let object = &attributes.object;
        let name = meta_text(object, "name").to_owned();
        let mut errors = devices::admin_access(call, object);
        errors.extend(call.told(call.resource.validate(object)));
        if errors.is_empty() {
            errors = policy_parameters::unreadable(call, object, &Value::Null);
        }
        if !errors.is_empty() {
            return Err(call.invalid_object(object, &errors));
        }
        for warning in call.resource.strategy.warnings(object, &Value::Null) {
            call.notes.warn(&warning);
        }
        // Admission goes on with the name that the request had; only where it had none, the object's is taken.
        if unnamed {
            attributes.name.clone_from(&name);
        }
        may_create(call)?;
        call.validate(&attributes).await?;
        // A version that is no number is none here, and is overwritten; so is any where an update creates.
        let version = meta_text(&attributes.object, "resourceVersion").parse::<u64>();
        let stores = call.path.name.is_empty() && !options.dry_run;
        if stores && version.is_ok_and(|version| version > 0) {
            return Err(Status::plain(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if !options.dry_run {
            metadata_mut(&mut attributes.object).remove("selfLink");
        }
        call.prune_for_storage(&mut attributes)?;
        match write::read_back(&attributes) {
            ReadBack::AsStored => {}
            other => read_back = other,
        }
        attributes.write_empties(Medium::Storage);
        if call.resource.strategy.is_read_back(&attributes.object) {
            let object = &mut attributes.object;
            match call.resource.strategy.read_back(object) {
                // It was read back at the attempt before.
                ReadBack::AsStored => {}
                other => read_back = other,
            }
        }
        // What a patch creates is stored where the patch went, whatever webhooks call it.
        let place = match &*call.path.name {
            "" => &*name,
            place => place,
        };
        let present = match write(call, options, &attributes, place, read_back).await? {
            Ok(shown) => {
                if let Some(allocation) = allocation.filter(|_| !options.dry_run) {
                    allocation.keep(call, &attributes.object);
                }
                return Ok(shown);
            }
            Err(Raced(present)) => present,
        };
        let resource = &call.resource;
        let mut status = Status::already_exists(&resource.group, &resource.plural, place);
        let is_ending = || {
            let present = present.as_ref();
            present.is_some_and(|present| is_deleting(&present.value()))
        };
        if base.is_empty() {
            if is_ending() {
                status = status.with_message_before("object is being deleted: ");
            }
            return Err(status);
        }
        if !generated || attempt == ATTEMPTS {
            status = status.with_message_behind(
                ", the server was not able to generate a unique name for the object",
            );
            let details = status.details_mut();
            details.insert("retryAfterSeconds".to_owned(), 1.into());
            if is_ending() {
                status = status.with_message_before("object is being deleted: ");
            }
            return Err(status);
        }
        let metadata = metadata_mut(&mut attributes.object);
        metadata.insert("name".to_owned(), generate(&base).into());
    }
}

/// Prepares a new object for its first write.
fn prepare(call: &Call, object: &mut Value) {
    let mut creation = Creation {
        user: &call.user,
        warnings: Vec::new(),
    };
    let strategy = &call.resource.strategy;
    strategy.prepare_for_create(object, &mut creation);
    for warning in &creation.warnings {
        call.notes.warn(warning);
    }
}

/// Nothing new is created of what is being taken away.
fn refuse_while_terminating(call: &Call, name: &str) -> Result<()> {
    let Some(why) = call.resource.strategy.refuses_new() else {
        return Ok(());
    };
    let (group, plural) = (&call.resource.group, &call.resource.plural);
    Err(Status::forbidden(group, plural, name, why))
}

/// Who creates by an update or a patch has shown only that they may do that.
fn may_create(call: &Call) -> Result<()> {
    let path = &call.path;
    if path.name.is_empty() {
        return Ok(());
    }
    let about = About::Resource {
        group: &path.group,
        resource: &path.plural,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name: &path.name,
        fields: None,
    };
    let question = Question {
        user: &call.user,
        verb: "create",
        about,
    };
    kubewright_auth::check(&*call.shared.access.authorizer, &question).map(drop)
}

/// Whether a service comes to be through its status: it is read with its addresses, and answered as it was sent.
fn makes_service(call: &Call) -> bool {
    !call.path.subresource.is_empty() && call.resource.plural == "services"
}

/// Writes the object, or acts as if; the inner error says that the name is taken.
async fn write(
    call: &Call,
    options: &WriteOptions,
    attributes: &Attributes,
    name: &str,
    read_back: ReadBack,
) -> Result<std::result::Result<Shown, Raced>> {
    let key = call.key(name);
    let mut draft = match &attributes.new_managed_fields {
        // They are left beside an object only in the form in which it is stored.
        Some(entries) => Draft::with_managed_fields(&attributes.object, Some(entries.json())),
        None => call.to_storage(&attributes.object).await?,
    };
    draft.read_back = read_back;
    let store = &call.shared.store;
    if options.dry_run {
        return Ok(match store.get(&call.table, &key) {
            Some(present) => Err(Raced(Some(present))),
            // The store alone minds a version, and a dry run does not come so far.
            None => Ok(Shown::unwritten(
                match meta_text(&attributes.object, "resourceVersion") {
                    "" => draft.into_text(None),
                    version => draft.with_version(version),
                },
            )),
        });
    }
    store.write_latency().await;
    if makes_service(call) {
        let mut object = attributes.object.clone();
        if object.at("spec").text("type") != "ExternalName" {
            services::normalize_addresses(&mut object, None);
        }
        let stored = store.create(&call.table, &key, Draft::new(&object));
        let shown = |object: Arc<Object>| Shown::unwritten(draft.into_text(Some(object.revision)));
        return Ok(committed(stored)?.map(shown));
    }
    let stored = committed(store.create(&call.table, &key, draft))?;
    Ok(stored.map(|object| Shown::from(&*object)))
}
