//! The group networking.k8s.io.

pub(crate) mod ingress;
mod ingress_class;
mod ip_address;
mod network_policy;
mod reference;
mod service_cidr;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Ingress" => Arc::new(ingress::Ingress::NEWEST),
        "IngressClass" => Arc::new(ingress_class::IngressClass),
        "IPAddress" => Arc::new(ip_address::IPAddress),
        "NetworkPolicy" => Arc::new(network_policy::NetworkPolicy),
        "ServiceCIDR" => Arc::new(service_cidr::ServiceCIDR),
        _ => return None,
    })
}
