//! Objects that take effect on a real server and not here: they are refused, because a client would rely on them.

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use kubewright_registry::Resource;
use serde_json::Value;

use crate::attributes::{Attributes, Operation};

/// Refuses a write that would put such an object into the store, whatever the verb.
///
/// # Errors
/// 501 for new APIServices, and for an APIService that names a service.
pub fn refuse(attributes: &Attributes) -> Result<()> {
    match attributes.operation {
        Operation::Create => refuse_new(&attributes.resource),
        Operation::Update => refuse_changed(&attributes.resource, &attributes.object),
        Operation::Delete | Operation::Connect => Ok(()),
    }
}

/// Refuses a new object by its resource alone: a client learns it before the body is read.
///
/// # Errors
/// 501 for APIServices.
pub fn refuse_new(resource: &Resource) -> Result<()> {
    if is_api_service(resource) {
        return Err(Status::not_implemented(NO_AGGREGATION));
    }
    Ok(())
}

fn refuse_changed(resource: &Resource, object: &Value) -> Result<()> {
    // The local APIServices that every server starts with may be labelled and reprioritized.
    if is_api_service(resource) && !object.at("spec").at("service").is_null() {
        return Err(Status::not_implemented(NO_AGGREGATION));
    }
    Ok(())
}

fn is_api_service(resource: &Resource) -> bool {
    resource.group == "apiregistration.k8s.io" && resource.plural == "apiservices"
}

const NO_AGGREGATION: &str = "this server does not forward requests to other API servers";
