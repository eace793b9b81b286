//! ResourceQuota: a request that uses more than the quotas of its namespace allow is rejected; any other one is charged.

use jiff::Timestamp;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_quota::{Evaluator, Quota, Request, charge};
use parking_lot::Mutex;
use serde_json::Value;

use super::subject::forbidden;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

/// Lets one request be charged at a time: each sees what those before it have used.
#[derive(Debug, Default)]
pub(super) struct Turn(Mutex<()>);

/// Charges a request, when everything else has admitted it.
pub(super) fn validate(turn: &Turn, cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let old = match attributes.operation {
        Operation::Create => None,
        Operation::Update => Some(&attributes.old_object),
        Operation::Delete | Operation::Connect => return Ok(()),
    };
    let namespace = attributes.namespace.as_str();
    if namespace.is_empty() || cluster.change_number("", "resourcequotas") == 0 {
        return Ok(());
    }
    let (group, plural) = (&attributes.resource.group, &attributes.resource.plural);
    // A new namespace is in none.
    let is_namespace = group.is_empty() && plural == "namespaces";
    if is_namespace || Evaluator::ignores(group, plural) {
        return Ok(());
    }
    let request = Request {
        subresource: &attributes.subresource,
        object: &attributes.object,
        old,
        now: Timestamp::now(),
    };
    let evaluator = Evaluator::of(group, plural);
    if !evaluator.handles(&request) {
        return Ok(());
    }
    if cluster.list("", "resourcequotas", namespace).is_empty() {
        return Ok(());
    }
    let _turn = turn.0.lock();
    let mut stored = cluster.list("", "resourcequotas", namespace);
    while !stored.is_empty() {
        let before: Vec<Quota> = stored.iter().map(|quota| Quota::of(quota)).collect();
        let mut after = before.clone();
        let changed = charge(&mut after, &evaluator, &request);
        let changed = changed.map_err(|why| forbidden(attributes, &why))?;
        if !changed || attributes.dry_run {
            return Ok(());
        }
        let mut conflicts = Vec::new();
        for ((before, after), stored) in before.iter().zip(&after).zip(&stored) {
            if after.used() != before.used() && !write(cluster, stored, after)? {
                conflicts.push(after.name().to_owned());
            }
        }
        // Its controller or a client was faster. The others have been charged.
        stored = cluster.list("", "resourcequotas", namespace);
        stored.retain(|quota| {
            let name = quota.at("metadata").text("name");
            conflicts.iter().any(|conflict| conflict == name)
        });
    }
    Ok(())
}

/// Writes what is used of a quota, unless it has changed.
fn write(cluster: &dyn Cluster, stored: &Value, quota: &Quota) -> Result<bool> {
    let mut written = stored.clone();
    if let Some(status) = written.part("status") {
        status.put("used", quota.used().to_value());
    }
    cluster
        .replace_status("", "resourcequotas", stored, written)
        .map_err(|why| Status::internal(&why))
}

#[cfg(test)]
mod tests;
