//! The kind Ticket of example.org, which another project defines in `crds/tickets.example.org.yaml`.

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Desired state of a Ticket, with the fields of the definition. Replace `Value` with a type of your own where you need one.
#[derive(Clone, Debug, Default, CustomResource, Serialize, Deserialize)]
#[kube(
    group = "example.org",
    version = "v1",
    kind = "Ticket",
    plural = "tickets",
    namespaced,
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
pub struct TicketSpec {
    /// Whose it is.
    pub holder_ref: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Where it is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_i_ps: Option<Vec<String>>,
    /// The seats that are taken, e.g. window ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seats: Option<Vec<i64>>,
    /// How long it is valid.
    pub type_: String,
}
