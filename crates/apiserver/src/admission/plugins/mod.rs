//! The plugins that are part of the server, in their order, before the webhooks.

mod namespace_lifecycle;

use super::attributes::Attributes;
use super::cluster::Cluster;
use super::notes::Notes;
use crate::status::{Result, Status};

/// Runs the plugins that may change the object.
pub(super) fn mutate(cluster: &dyn Cluster, attributes: &mut Attributes) -> Result<()> {
    namespace_lifecycle::admit(cluster, attributes)
}

/// Runs the plugins that judge the final object.
#[expect(clippy::unnecessary_wraps, reason = "filled by the next plugin")]
pub(super) fn validate(_: &dyn Cluster, _: &Attributes, _: &Notes) -> Result<()> {
    Ok(())
}

/// 403 with the best name that is known: the request's, the object's, its generateName, `Unknown`.
fn forbidden(attributes: &Attributes, why: &str) -> Status {
    let resource = &attributes.resource;
    Status::forbidden(
        &resource.group,
        &resource.plural,
        shown_name(attributes),
        why,
    )
}

fn shown_name(attributes: &Attributes) -> &str {
    let of_object = |field: &str| {
        let name = attributes.object["metadata"][field].as_str();
        name.filter(|name| !name.is_empty())
    };
    if attributes.name.is_empty() {
        of_object("name")
            .or_else(|| of_object("generateName"))
            .unwrap_or("Unknown")
    } else {
        &attributes.name
    }
}
