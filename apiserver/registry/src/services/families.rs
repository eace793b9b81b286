//! The address families of a service: this server has IPv4 alone.

use std::net::{IpAddr, Ipv4Addr};

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use kubewright_validation::formats::without_zeros;
use serde_json::{Value, json};

/// Settles the families and their policy.
pub(super) fn settle(spec: &mut Value, before: &Value, errors: &mut Vec<FieldError>) {
    if !needs_address(spec) || still_prefers_both(spec, before) {
        return;
    }
    let headless = spec.text("clusterIP") == "None";
    let selects = spec.map("selector").is_some_and(|map| !map.is_empty());
    // No controller watches the pods behind a headless service without a selector: its owner may list addresses of both families.
    let lists_both = headless && !selects;
    let policy = if lists_both {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    spec.fill("ipFamilyPolicy", policy);
    release_second(spec, before, errors);
    infer_families(spec, errors);
    if !errors.is_empty() {
        return;
    }
    if lists_both {
        if spec.text("ipFamilyPolicy") == "SingleStack" {
            if spec.list("ipFamilies").is_empty() {
                spec.put("ipFamilies", json!(["IPv4"]));
            }
        } else {
            match spec.list("ipFamilies") {
                [] => spec.put("ipFamilies", json!(["IPv4", "IPv6"])),
                [only] if only == "IPv4" => spec.put("ipFamilies", json!(["IPv4", "IPv6"])),
                [_] => spec.put("ipFamilies", json!(["IPv6", "IPv4"])),
                _ => {}
            }
        }
        return;
    }
    let path = Path::new("spec");
    if spec.text("ipFamilyPolicy") == "RequireDualStack" {
        errors.push(FieldError::invalid(
            &path.child("ipFamilyPolicy"),
            "RequireDualStack",
            "this cluster is not configured for dual-stack services",
        ));
    }
    for (index, family) in spec.list("ipFamilies").iter().enumerate() {
        if family != "IPv4" {
            errors.push(FieldError::invalid(
                &path.child("ipFamilies").index(index),
                family.clone(),
                "not configured on this cluster",
            ));
        }
    }
    if spec.list("ipFamilies").is_empty() {
        spec.put("ipFamilies", json!(["IPv4"]));
    }
}

/// Whether a service that had an address gets a second family, which is that of this server. No service can keep what it gets.
pub(super) fn adds_family(spec: &Value, before: &Value) -> bool {
    let had_address = needs_address(before) && before.text("clusterIP") != "None";
    let is_ours = |families: &[Value]| families.len() == 2 && families[1] == "IPv4";
    had_address
        && needs_address(spec)
        && before.list("ipFamilies").len() == 1
        && is_ours(spec.list("ipFamilies"))
        && !still_prefers_both(spec, before)
}

/// Whether a service that takes what the cluster has is left as it was: a cluster that has changed changes no service.
fn still_prefers_both(spec: &Value, before: &Value) -> bool {
    let prefers = |spec: &Value| spec.text("ipFamilyPolicy") == "PreferDualStack";
    let same =
        |field: &str| kubewright_validation::semantic::same(spec.at(field), before.at(field));
    prefers(spec)
        && (prefers(before) || (before.is_object() && !before.has("ipFamilyPolicy")))
        && ["type", "clusterIPs", "ipFamilies"].into_iter().all(same)
}

/// One stack has one address and one family: what it had besides is released, which has to be said by the policy.
fn release_second(spec: &mut Value, before: &Value, errors: &mut Vec<FieldError>) {
    let single = spec.text("ipFamilyPolicy") == "SingleStack";
    for (field, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (old, new) = (before.list(field), spec.list(field));
        if single && new.len() > 1 && old == new {
            let first = json!([new[0]]);
            spec.put(field, first);
        } else if !single && !new.is_empty() && new.len() < old.len() {
            let detail = format!("must be 'SingleStack' to release the secondary {what}");
            let value = spec.at("ipFamilyPolicy").clone();
            let at = Path::new("spec.ipFamilyPolicy");
            errors.push(FieldError::invalid(&at, value, &detail));
        }
    }
}

/// Adds the families of the addresses that a client names; one stack has one address and one family.
fn infer_families(spec: &mut Value, errors: &mut Vec<FieldError>) {
    let path = Path::new("spec");
    if spec.text("ipFamilyPolicy") == "SingleStack" {
        for (field, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if spec.list(field).len() == 2 {
                let detail = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                let at = path.child("ipFamilyPolicy");
                errors.push(FieldError::invalid(&at, "SingleStack", &detail));
            }
        }
    }
    let mut families = spec.list("ipFamilies").to_vec();
    for (index, address) in spec.list("clusterIPs").iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if address == "None" {
            break;
        }
        if index < families.len() {
            continue;
        }
        if address.contains(':') && ipv4(address).is_none() {
            let at = path.child("clusterIPs");
            let value = spec.at("clusterIPs").clone();
            let detail = "IPv6 is not configured on this cluster";
            errors.push(FieldError::invalid(&at.index(index), value, detail));
        } else {
            families.push("IPv4".into());
        }
    }
    if !families.is_empty() {
        spec.put("ipFamilies", families);
    }
}

/// Whether a service gets an address. One of an unknown type does, too: validation refuses it later.
pub(super) fn needs_address(spec: &Value) -> bool {
    spec.text("type") != "ExternalName"
}

/// Reads an address, be it written as it once was.
pub(super) fn ipv4(text: &str) -> Option<Ipv4Addr> {
    match without_zeros(text).parse().ok()? {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => address.to_ipv4_mapped(),
    }
}
