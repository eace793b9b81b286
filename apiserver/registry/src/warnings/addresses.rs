//! Warnings about valid addresses in an uncommon form.

use std::net::IpAddr;

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use kubewright_validation::formats::without_zeros;
use serde_json::Value;

/// Warns about an IP address that is not written as it should be: an old object may have one, or an older version take it.
pub(crate) fn ip(path: &Path<'_>, text: &str, out: &mut Vec<String>) {
    let written: Option<IpAddr> = text.parse().ok();
    let Some(address) = written.or_else(|| without_zeros(text).parse().ok()) else {
        return;
    };
    // An IPv4 address in the form of IPv6 is one of IPv4.
    let address = address.to_canonical();
    let (shown, canonical) = (quoted(text), quoted(&address.to_string()));
    if written != Some(address) {
        out.push(format!(
            "{path}: non-standard IP address {shown} is invalid: use {canonical}"
        ));
    } else if address.is_ipv6() && canonical != shown {
        out.push(format!(
            "{path}: IPv6 address {shown} should be in RFC 5952 canonical format ({canonical})"
        ));
    }
}

/// Warns about a CIDR that is not written as it should be.
pub(crate) fn cidr(path: &Path<'_>, text: &str, out: &mut Vec<String>) {
    let Some((written, length)) = text.split_once('/') else {
        return;
    };
    let Ok(address) = without_zeros(written).parse::<IpAddr>() else {
        return;
    };
    let Some((network, bits, size)) = network(address, length) else {
        return;
    };
    // An IPv4 range in the form of IPv6 is one of IPv4.
    let canonical = match network.to_canonical() {
        v4 if v4 != network => quoted(&format!("{v4}/{}", bits.saturating_sub(96))),
        _ => quoted(&format!("{network}/{bits}")),
    };
    let shown = quoted(text);
    let count = out.len();
    let single = address.to_canonical();
    if network != address {
        let one = quoted(&format!("{single}/{size}"));
        out.push(format!(
            "{path}: CIDR value {shown} is ambiguous in this context (should be {canonical} or {one}?)"
        ));
    }
    let has_zeros = length.len() > 1 && length.starts_with('0');
    if written.parse::<IpAddr>().is_err() || has_zeros || single != address {
        out.push(format!(
            "{path}: non-standard CIDR value {shown} is invalid: use {canonical}"
        ));
    }
    if out.len() == count && address.is_ipv6() && canonical != shown {
        out.push(format!(
            "{path}: IPv6 CIDR value {shown} should be in RFC 5952 canonical format ({canonical})"
        ));
    }
}

/// The network of an address, its length in bits, and how many bits the address has.
fn network(address: IpAddr, length: &str) -> Option<(IpAddr, u32, u32)> {
    let bits: u32 = length.parse().ok()?;
    Some(match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(bits)?).unwrap_or(0);
            (IpAddr::V4((u32::from(v4) & mask).into()), bits, 32)
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX
                .checked_shl(128_u32.checked_sub(bits)?)
                .unwrap_or(0);
            (IpAddr::V6((u128::from(v6) & mask).into()), bits, 128)
        }
    })
}

/// Runs a check on each string of a list.
pub(crate) fn each(
    path: &Path<'_>,
    list: &[Value],
    check: fn(&Path<'_>, &str, &mut Vec<String>),
    out: &mut Vec<String>,
) {
    for (index, text) in list.iter().enumerate() {
        check(&path.index(index), text.as_str().unwrap_or_default(), out);
    }
}

/// Warns about the IP blocks of a NetworkPolicy.
pub(crate) fn policy(spec: &Value, out: &mut Vec<String>) {
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let rules = Path::new("spec");
        let rules = rules.child(direction);
        for (rule, value) in spec.list(direction).iter().enumerate() {
            let rule = rules.index(rule);
            let all = rule.child(peers);
            for (peer, value) in value.list(peers).iter().enumerate() {
                let (peer, block) = (all.index(peer), value.at("ipBlock"));
                let path = peer.child("ipBlock");
                cidr(&path.child("cidr"), block.text("cidr"), out);
                each(&path.child("except"), block.list("except"), cidr, out);
            }
        }
    }
}

/// Warns of the addresses of a load balancer in the status of an object.
pub(crate) fn balancer(object: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let path = Path::new("status.loadBalancer.ingress");
    let balancer = object.at("status").at("loadBalancer");
    for (index, ingress) in balancer.list("ingress").iter().enumerate() {
        ip(&path.index(index), ingress.text("ip"), &mut out);
    }
    out
}

/// The addresses of Endpoints that no controller made.
pub(crate) fn endpoints(object: &Value, out: &mut Vec<String>) {
    let labels = object.at("metadata").at("labels");
    if labels.text("endpoints.kubernetes.io/managed-by") == "endpoint-controller" {
        return;
    }
    let subsets = Path::new("subsets");
    for (index, subset) in object.list("subsets").iter().enumerate() {
        let subset_path = subsets.index(index);
        for list in ["addresses", "notReadyAddresses"] {
            let addresses = subset_path.child(list);
            for (index, address) in subset.list(list).iter().enumerate() {
                let at = addresses.index(index);
                ip(&at.child("ip"), address.text("ip"), out);
            }
        }
    }
}

/// The addresses of an EndpointSlice that no controller made; names, which were deprecated, for a new one.
pub(crate) fn endpoint_slice(object: &Value, is_new: bool, out: &mut Vec<String>) {
    if is_new && object.text("addressType") == "FQDN" {
        out.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    let labels = object.at("metadata").at("labels");
    if matches!(
        labels.text("endpointslice.kubernetes.io/managed-by"),
        "endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io"
    ) {
        return;
    }
    let endpoints = Path::new("endpoints");
    for (index, endpoint) in object.list("endpoints").iter().enumerate() {
        let at = endpoints.index(index);
        each(&at.child("addresses"), endpoint.list("addresses"), ip, out);
    }
}
