//! The rows of services, endpoints and the networking kinds.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View;
use serde_json::Value;

pub(crate) fn balancer_addresses(status: &Value) -> String {
    let addresses: BTreeSet<&str> = status
        .at("loadBalancer")
        .list("ingress")
        .iter()
        .map(|ingress| match ingress.text("ip") {
            "" => ingress.text("hostname"),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}
