//! Ingresses, ingress classes and network policies.

use std::net::IpAddr;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{
    Errors, domain_path, immutable_as, label, one_of_if_set, port_or_name, problems, required,
    selector, subdomain,
};
use crate::kinds::formats;

pub(super) fn ingress(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let rules = spec.list("rules");
    if rules.is_empty() && !spec.has("defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(&path, spec.at("rules").clone(), detail));
    }
    if spec.has("defaultBackend") {
        let at = path.child("defaultBackend");
        backend(spec.at("defaultBackend"), &at, errors);
    }
    let at = path.child("rules");
    for (index, rule) in rules.iter().enumerate() {
        ingress_rule(rule, &at.index(index), errors);
    }
    let at = path.child("tls");
    for (index, tls) in spec.list("tls").iter().enumerate() {
        let at = at.index(index);
        let hosts = at.child("hosts");
        for (index, host) in tls.list("hosts").iter().enumerate() {
            let host = host.as_str().unwrap_or_default();
            pattern(host, &hosts.index(index), errors);
        }
        let secret = tls.text("secretName");
        if !secret.is_empty() {
            subdomain(&at.child("secretName"), secret, errors);
        }
    }
    if spec.has("ingressClassName") {
        let class = spec.text("ingressClassName");
        subdomain(&path.child("ingressClassName"), class, errors);
    }
}

/// The class of an ingress stands in two places, which only agree in a new one.
pub(super) fn ingress_annotation(object: &Value, errors: &mut Errors) {
    const ANNOTATION: &str = "kubernetes.io/ingress.class";
    let annotations = object.at("metadata").at("annotations");
    let spec = object.at("spec");
    let class = annotations.text(ANNOTATION);
    if annotations.has(ANNOTATION)
        && spec.has("ingressClassName")
        && class != spec.text("ingressClassName")
    {
        let at = Path::new("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(FieldError::invalid(&at.child(ANNOTATION), class, detail));
    }
}

/// Where the balancer of an ingress can be reached.
pub(super) fn balancer(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("loadBalancer.ingress");
    for (index, ingress) in status.at("loadBalancer").list("ingress").iter().enumerate() {
        let at = path.index(index);
        let (ip, host) = (ingress.text("ip"), ingress.text("hostname"));
        if !ip.is_empty() {
            super::check::ip(ip, &at.child("ip"), errors);
        }
        if !host.is_empty() {
            let at = at.child("hostname");
            subdomain(&at, host, errors);
            if host.parse::<IpAddr>().is_ok() {
                let detail = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(&at, host, detail));
            }
        }
    }
}

/// A range of addresses for services: one, or one of each family.
pub(super) fn service_range(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec.cidrs");
    let ranges = spec.list("cidrs");
    if ranges.is_empty() {
        errors.push(FieldError::required(&path, "at least one CIDR required"));
        return;
    }
    if ranges.len() > 2 {
        let value = format!("{{\"CIDRs\":{}}}", spec.at("cidrs"));
        let detail = "may only hold up to 2 values";
        errors.push(FieldError::invalid_shown(&path, &value, detail));
        return;
    }
    let mut families = Vec::new();
    for (index, range) in ranges.iter().enumerate() {
        let range = range.as_str().unwrap_or_default();
        let found = formats::cidr(range);
        if found.is_none() {
            families.push(range.contains(':'));
        }
        problems(&path.index(index), range, found, errors);
    }
    if families.len() == 2 && families[0] == families[1] {
        let value = spec.at("cidrs").clone();
        let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(FieldError::invalid(&path, value, detail));
    }
}

pub(super) fn service_range_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (now, before) = (new.at("spec").list("cidrs"), old.at("spec").list("cidrs"));
    let path = Path::new("spec.cidrs");
    let grown = before.len() == 1 && now.len() == 2;
    if now.len() != before.len() && !grown {
        let value = new.at("spec").at("cidrs").clone();
        errors.push(FieldError::invalid(&path, value, super::check::IMMUTABLE));
        return;
    }
    for (index, (now, before)) in now.iter().zip(before).enumerate() {
        if now != before {
            let at = path.index(index);
            errors.push(FieldError::invalid(
                &at,
                now.clone(),
                super::check::IMMUTABLE,
            ));
        }
    }
    if grown {
        service_range(new, errors);
    }
}

/// Whose an address is.
pub(super) fn address(object: &Value, errors: &mut Errors) {
    let parent = object.at("spec").at("parentRef");
    let path = Path::new("spec.parentRef");
    if parent.is_null() {
        errors.push(FieldError::required(&path, ""));
        return;
    }
    let group = parent.text("group");
    if !group.is_empty() {
        subdomain(&path.child("group"), group, errors);
    }
    for field in ["resource", "name"] {
        if required(parent, &path, field, errors) {
            segment(parent, field, &path, errors);
        }
    }
    segment(parent, "namespace", &path, errors);
}

fn segment(holder: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let text = holder.text(field);
    problems(&path.child(field), text, names::path_segment(text), errors);
}

/// A reference to an object of any kind: its group, kind and name.
fn reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    if reference.has("apiGroup") {
        let group = reference.text("apiGroup");
        subdomain(&path.child("apiGroup"), group, errors);
    }
    for field in ["kind", "name"] {
        if required(reference, path, field, errors) {
            segment(reference, field, path, errors);
        }
    }
}

pub(super) fn ingress_class(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let controller = spec.text("controller");
    let at = path.child("controller");
    if controller.len() > 250 {
        errors.push(FieldError::too_long(&at, 250));
    }
    domain_path(controller, &at, errors);
    let parameters = spec.at("parameters");
    if parameters.is_null() {
        return;
    }
    let at = path.child("parameters");
    reference(parameters, &at, errors);
    let scopes = ["Cluster", "Namespace"];
    one_of_if_set(parameters, &at, "scope", &scopes, errors);
    let namespace = parameters.text("namespace");
    let at = at.child("namespace");
    match parameters.text("scope") {
        "Namespace" if namespace.is_empty() => {
            let detail = "`parameters.scope` is set to 'Namespace'";
            errors.push(FieldError::required(&at, detail));
        }
        "Namespace" => label(&at, namespace, errors),
        "Cluster" if !namespace.is_empty() => {
            let detail = "`parameters.scope` is set to 'Cluster'";
            errors.push(FieldError::forbidden(&at, detail));
        }
        _ => {}
    }
}

pub(super) fn ingress_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    immutable_as(
        "s",
        new.at("spec"),
        old.at("spec"),
        &path,
        "controller",
        errors,
    );
}

pub(super) fn network_policy(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    selector(spec.at("podSelector"), &path.child("podSelector"), errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let at = path.child(direction);
        for (index, rule) in spec.list(direction).iter().enumerate() {
            let at = at.index(index);
            let ports = at.child("ports");
            for (index, port) in rule.list("ports").iter().enumerate() {
                policy_port(port, &ports.index(index), errors);
            }
            let list = at.child(peers);
            for (index, peer) in rule.list(peers).iter().enumerate() {
                policy_peer(peer, &list.index(index), errors);
            }
        }
    }
    let types = spec.list("policyTypes");
    let at = path.child("policyTypes");
    if types.len() > 2 {
        let value = spec.at("policyTypes").clone();
        let detail = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid(&at, value, detail));
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        let kind = kind.as_str().unwrap_or_default();
        if !matches!(kind, "Ingress" | "Egress") {
            errors.push(FieldError::not_supported(
                &at.index(index),
                kind,
                &["Ingress", "Egress"],
            ));
        }
    }
}

fn policy_port(port: &Value, path: &Path<'_>, errors: &mut Errors) {
    let protocols = ["TCP", "UDP", "SCTP"];
    if port.has("protocol") && !protocols.contains(&port.text("protocol")) {
        errors.push(FieldError::not_supported(
            &path.child("protocol"),
            port.text("protocol"),
            &protocols,
        ));
    }
    let number = port.at("port");
    let end = path.child("endPort");
    let last = port.int("endPort");
    // The end comes before what is wrong with a name, and after what is wrong with a number.
    if let (Some(last), Value::String(_)) = (last, number) {
        let detail = "may not be specified when `port` is non-numeric";
        errors.push(FieldError::invalid(&end, last, detail));
    }
    if !number.is_null() {
        port_or_name(number, &path.child("port"), errors);
    }
    let Some(last) = last else {
        return;
    };
    match number {
        Value::Null => {
            let detail = "may not be specified when `port` is not specified";
            errors.push(FieldError::invalid(&end, last, detail));
        }
        Value::String(_) => {}
        number => {
            if last < number.as_i64().unwrap_or(0) {
                // The server shows the port here, not the end.
                let detail = "must be greater than or equal to `port`";
                errors.push(FieldError::invalid(&end, number.clone(), detail));
            }
            super::check::port(last, &end, errors);
        }
    }
}

fn policy_peer(peer: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut found = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if peer.has(field) {
            found += 1;
            selector(peer.at(field), &path.child(field), errors);
        }
    }
    let block = peer.at("ipBlock");
    if !block.is_null() {
        let at = path.child("ipBlock");
        ip_block(block, &at, errors);
        if found > 0 {
            let detail = "may not specify both ipBlock and another peer";
            errors.push(FieldError::forbidden(path, detail));
        }
        found += 1;
    }
    if found == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    }
}

fn ip_block(block: &Value, path: &Path<'_>, errors: &mut Errors) {
    let range = block.text("cidr");
    let at = path.child("cidr");
    if range.is_empty() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    problems(&at, range, formats::cidr(range), errors);
    let Some(range) = Range::parse(range) else {
        return;
    };
    let list = path.child("except");
    for (index, except) in block.list("except").iter().enumerate() {
        let (except, at) = (except.as_str().unwrap_or_default(), list.index(index));
        problems(&at, except, formats::cidr(except), errors);
        if Range::parse(except).is_some_and(|inner| !inner.is_inside(&range)) {
            let detail = "must be a strict subset of `cidr`";
            errors.push(FieldError::invalid(&at, except, detail));
        }
    }
}

/// A range of addresses, read with the zeros that numbers may once have begun with.
struct Range {
    /// Without the bits that the mask hides.
    address: u128,
    bits: u32,
    is_old: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let bits: u32 = bits.parse().ok()?;
        let parsed = address
            .parse()
            .or_else(|_| formats::without_zeros(address).parse());
        let (address, is_old) = match parsed.ok()? {
            IpAddr::V4(v4) if bits <= 32 => (u128::from(u32::from(v4)) << 96, true),
            IpAddr::V6(v6) if bits <= 128 => (u128::from(v6), false),
            _ => return None,
        };
        Some(Self {
            address: address & mask(bits),
            bits,
            is_old,
        })
    }

    /// Whether the range is a real part of another one.
    fn is_inside(&self, outer: &Self) -> bool {
        self.is_old == outer.is_old
            && self.bits > outer.bits
            && self.address & mask(outer.bits) == outer.address
    }
}

fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

fn ingress_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let host = rule.text("host");
    if !host.is_empty() {
        self::host(host, &path.child("host"), errors);
    }
    if !rule.has("http") {
        return;
    }
    let at = path.child("http.paths");
    let paths = rule.at("http").list("paths");
    if paths.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    for (index, item) in paths.iter().enumerate() {
        let at = at.index(index);
        let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
        let kind = item.text("pathType");
        if !item.has("pathType") {
            let detail = "pathType must be specified";
            errors.push(FieldError::required(&at.child("pathType"), detail));
            continue;
        }
        if kinds.contains(&kind) {
            url_path(item.text("path"), kind, &at.child("path"), errors);
        } else {
            let at = at.child("pathType");
            errors.push(FieldError::not_supported(&at, kind, &kinds));
        }
        backend(item.at("backend"), &at.child("backend"), errors);
    }
}

fn url_path(text: &str, kind: &str, path: &Path<'_>, errors: &mut Errors) {
    let exact = matches!(kind, "Exact" | "Prefix");
    let absolute = text.starts_with('/');
    if !absolute && (exact || !text.is_empty()) {
        let detail = "must be an absolute path";
        errors.push(FieldError::invalid(path, text, detail));
    }
    if !exact || text.is_empty() {
        return;
    }
    for part in ["//", "/./", "/../", "%2f", "%2F"] {
        if text.contains(part) {
            let detail = format!("must not contain '{part}'");
            errors.push(FieldError::invalid(path, text, &detail));
        }
    }
    for end in ["/..", "/."] {
        if text.ends_with(end) {
            let detail = format!("cannot end with '{end}'");
            errors.push(FieldError::invalid(path, text, &detail));
        }
    }
}

fn host(host: &str, path: &Path<'_>, errors: &mut Errors) {
    if formats::without_zeros(host).parse::<IpAddr>().is_ok() {
        let detail = "must be a DNS name, not an IP address";
        errors.push(FieldError::invalid(path, host, detail));
    }
    pattern(host, path, errors);
}

/// The name of a host, or of all hosts of a domain.
fn pattern(host: &str, path: &Path<'_>, errors: &mut Errors) {
    if host.contains('*') {
        problems(path, host, formats::wildcard_domain(host), errors);
    } else {
        problems(path, host, names::dns1123_subdomain(host), errors);
    }
}

fn backend(backend: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (service, resource) = (backend.has("service"), backend.has("resource"));
    if service && resource {
        let detail = "cannot set both resource and service backends";
        errors.push(FieldError::invalid(path, "", detail));
        return;
    }
    if !service && !resource {
        let detail = "resource or service backend is required";
        errors.push(FieldError::invalid(path, "", detail));
        return;
    }
    if resource {
        reference(backend.at("resource"), &path.child("resource"), errors);
        return;
    }
    let (service, at) = (backend.at("service"), path.child("service"));
    if required(service, &at, "name", errors) {
        let name = service.text("name");
        let found = names::dns1123_label(name);
        problems(&at.child("name"), name, found, errors);
    }
    let port = service.at("port");
    let (name, number) = (port.text("name"), port.int("number").unwrap_or(0));
    if name.is_empty() && number == 0 {
        let detail = "port name or number is required";
        errors.push(FieldError::required(path, detail));
    } else if !name.is_empty() && number != 0 {
        let detail = "cannot set both port name & port number";
        errors.push(FieldError::invalid(path, "", detail));
    } else if name.is_empty() {
        super::check::port(number, &at.child("port.number"), errors);
    } else {
        let at = at.child("port.name");
        problems(&at, name, formats::port_name(name), errors);
    }
}
