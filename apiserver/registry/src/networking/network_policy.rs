//! Network policies.

use std::net::IpAddr;

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::columns::Row;
use crate::columns::text::or_none;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::addresses;
use kubewright_validation::check::{Errors, declared_required, port_or_name, problems, selector};
use kubewright_validation::formats;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of network policies.
#[derive(Debug)]
pub(crate) struct NetworkPolicy;

impl Strategy for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    /// The kind tells an empty list from none.
    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        if new.at("spec") != old.at("spec") {
            generation::count(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        check(new, errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        addresses::policy(new.at("spec"), &mut out);
        out
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.part("podSelector");
    for direction in ["ingress", "egress"] {
        for rule in spec.each(direction) {
            for port in rule.each("ports") {
                port.fill("protocol", "TCP");
            }
        }
    }
    if spec.list("policyTypes").is_empty() {
        let types = if spec.list("egress").is_empty() {
            json!(["Ingress"])
        } else {
            json!(["Ingress", "Egress"])
        };
        spec.put("policyTypes", types);
    }
}

fn check(object: &Value, errors: &mut Errors) {
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
                let detail = "must be greater than or equal to `port`";
                errors.push(FieldError::invalid(&end, last, detail));
            }
            kubewright_validation::check::port(last, &end, errors);
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
    if !declared_required(block, path, "cidr", errors) {
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

fn cells(row: Row<'_>) -> Vec<Value> {
    let pods = or_none(crate::columns::text::selector(row.spec().at("podSelector")));
    vec![row.name(), pods.into(), row.age()]
}
