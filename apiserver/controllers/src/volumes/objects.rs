//! The tables of volumes, claims and classes, and how volumes and claims find each other.

use std::sync::Arc;

use serde_json::Value;

use super::super::client::{Api, Who};
use super::super::graph::Graph;
use super::super::object::{Item, text};

pub(super) const CLAIMS: &str = "persistentvolumeclaims";
pub(super) const VOLUMES: &str = "persistentvolumes";
pub(super) const CLASSES: &str = "storageclasses.storage.k8s.io";
pub(super) const ATTRIBUTES: &str = "volumeattributesclasses.storage.k8s.io";
pub(super) const ATTRIBUTES_API: Api =
    Api::of_cluster_in("/apis/storage.k8s.io/v1", "volumeattributesclasses");
pub(super) const VOLUMES_API: Api = Api::of_cluster(VOLUMES);

pub(super) const BINDER: &str = "persistent-volume-binder";
pub(super) const WHO: Who<'static> = Who::Controller(BINDER);

/// Set on a volume by the provisioner that has made it.
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// The volume that a claim names.
pub(super) fn volume_of(claim: &Value, graph: &Graph) -> Option<Arc<Item>> {
    match text(claim, "/spec/volumeName") {
        "" => None,
        name => graph.get(VOLUMES, name),
    }
}

/// The path of the claim that a volume names, if it names one.
pub(super) fn claim_path(volume: &Value) -> Option<String> {
    let [namespace, name] =
        ["/spec/claimRef/namespace", "/spec/claimRef/name"].map(|at| text(volume, at));
    (!name.is_empty()).then(|| format!("{namespace}/{name}"))
}

/// The claim that a volume names, whatever its UID is.
pub(super) fn claim_of(volume: &Value, graph: &Graph) -> Option<Arc<Item>> {
    graph.get(CLAIMS, &claim_path(volume)?)
}
