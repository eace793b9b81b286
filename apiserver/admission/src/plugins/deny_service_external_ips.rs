//! DenyServiceExternalIPs: no Service gets an external IP that it did not have. Any user who may write Services could otherwise
//! receive the traffic to addresses outside the cluster (CVE-2020-8554).

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::subject::{forbidden, is_about};
use crate::attributes::{Attributes, Operation};

pub(super) fn validate(attributes: &Attributes) -> Result<()> {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    if !writes || !is_about(attributes, "", "services") {
        return Ok(());
    }
    let [wanted, had] = [&attributes.object, &attributes.old_object].map(external_ips);
    if wanted.iter().all(|address| had.contains(address)) {
        return Ok(());
    }
    let why = "Use of external IPs is denied by admission control";
    Err(forbidden(attributes, why))
}

fn external_ips(service: &Value) -> &[Value] {
    service.at("spec").list("externalIPs")
}
