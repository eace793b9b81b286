//! Endpoint slices.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::columns::Row;
use crate::columns::text::{first_three, or};
use crate::core::validation::services::{PROTOCOLS, app_protocol, domain, ordinary, uncanonical};
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::addresses;
use kubewright_validation::check::{
    Errors, IMMUTABLE, declaratively, declared_required_for, ip, label, labels, one_of,
    one_of_if_set, problems, subdomain,
};
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const KIND: [&str; 3] = ["discovery.k8s.io", "v1", "EndpointSlice"];
const METADATA: Rules = Rules::namespaced();

/// The strategy of endpoint slices.
#[derive(Debug)]
pub(crate) struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        without_topology(object);
    }

    /// What is lost counts as a change.
    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        let [labels, before] = [&*new, old].map(|object| object.at("metadata").at("labels"));
        let is_changed = |field| generation::is_changed(KIND, field, new, old);
        if !same(labels, before)
            || ["addressType", "endpoints", "ports"]
                .into_iter()
                .any(is_changed)
        {
            generation::count(new, old);
        }
        without_topology(new);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &Value::Null, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        check(new, old, errors);
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        addresses::endpoint_slice(new, old.is_null(), &mut out);
        out
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

/// The first version has no topology any more; what only older ones said is lost.
fn without_topology(object: &mut Value) {
    for endpoint in object.each("endpoints") {
        endpoint.drop_field("deprecatedTopology");
    }
}

fn default(object: &mut Value) {
    for port in object.each("ports") {
        port.fill("name", "");
        port.fill("protocol", "TCP");
    }
    for endpoint in object.each("endpoints") {
        endpoint.part("conditions");
    }
}

fn check(object: &Value, old: &Value, errors: &mut Errors) {
    let kind = object.text("addressType");
    let (root, kinds) = (Path::root(), ["FQDN", "IPv4", "IPv6"]);
    let is_changed = !old.is_null() && kind != old.text("addressType");
    if is_changed && !kind.is_empty() {
        // Declarative validation looks no further once it sees that the type changed.
        one_of(object, &root, "addressType", &kinds, errors);
    } else {
        declaratively(errors, |errors| {
            one_of(object, &root, "addressType", &kinds, errors);
        });
    }
    if is_changed {
        let error = FieldError::invalid(&root.child("addressType"), Value::Null, IMMUTABLE);
        errors.push(error.declarative_for(None));
    }
    let ports = object.list("ports");
    let list = Path::new("ports");
    for (index, item) in ports.iter().enumerate() {
        let at = list.index(index);
        let name = item.text("name");
        if !name.is_empty() {
            label(&at.child("name"), name, errors);
        }
        if ports[..index]
            .iter()
            .any(|other| other.text("name") == name)
        {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        if item.has("protocol") {
            one_of_if_set(item, &at, "protocol", &PROTOCOLS, errors);
        } else {
            errors.push(FieldError::required(&at.child("protocol"), ""));
        }
        app_protocol(item, &at, errors);
    }
    check_endpoints(object, old, errors);
    if is_changed {
        // Handwritten validation says it last.
        let error = FieldError::invalid(&root.child("addressType"), kind, IMMUTABLE);
        errors.push(error.covered());
    }
}

fn check_endpoints(object: &Value, old: &Value, errors: &mut Errors) {
    let kind = object.text("addressType");
    let endpoints = object.list("endpoints");
    if !old.is_null() && same(object.at("endpoints"), old.at("endpoints")) {
        return;
    }
    let list = Path::new("endpoints");
    if endpoints.len() > 1000 {
        errors.push(FieldError::too_many(&list, endpoints.len(), 1000));
        return;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        self::endpoint(endpoint, kind, &list.index(index), errors);
    }
}

fn endpoint(endpoint: &Value, kind: &str, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("addresses");
    let addresses = endpoint.list("addresses");
    let why = "must contain at least 1 address";
    declared_required_for(why, endpoint, path, "addresses", errors);
    if addresses.len() > 100 {
        errors.push(FieldError::too_many(&at, addresses.len(), 100).declarative());
    }
    for (index, address) in addresses.iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        let path = at.index(index);
        match kind {
            "FQDN" => domain(address, &path, errors),
            "IPv4" | "IPv6" if ip(address, &path, errors) => {
                if let Some(canonical) = uncanonical(address).filter(|_| kind == "IPv6") {
                    let detail = format!("must be in canonical form ({})", quoted(&canonical));
                    errors.push(FieldError::invalid(&path, address, &detail));
                    continue;
                }
                if address.contains(':') != (kind == "IPv6") {
                    // The index is left out here.
                    let detail = format!("must be an {kind} address");
                    errors.push(FieldError::invalid(&at, address, &detail));
                }
                ordinary(address, &path, errors);
            }
            _ => {}
        }
    }
    if endpoint.has("nodeName") {
        subdomain(&path.child("nodeName"), endpoint.text("nodeName"), errors);
    }
    labels(endpoint, path, "deprecatedTopology", errors);
    if endpoint.has("hostname") {
        label(&path.child("hostname"), endpoint.text("hostname"), errors);
    }
    let hints = path.child("hints");
    for (list, found) in [
        ("forZones", names::label_value as fn(&str) -> Vec<String>),
        ("forNodes", names::dns1123_subdomain),
    ] {
        let all = endpoint.at("hints").list(list);
        let at = hints.child(list);
        if all.len() > 8 {
            errors.push(FieldError::too_many(&at, all.len(), 8));
            return;
        }
        for (index, hint) in all.iter().enumerate() {
            let (at, name) = (at.index(index), hint.text("name"));
            let at = at.child("name");
            if all[..index].iter().any(|other| other.text("name") == name) {
                errors.push(FieldError::duplicate(&at, name));
            }
            problems(&at, name, found(name), errors);
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let ports: Vec<String> = row
        .object
        .list("ports")
        .iter()
        .map(|port| match (port.int("port"), port.at("name").as_str()) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        })
        .collect();
    let addresses: Vec<String> = row
        .object
        .list("endpoints")
        .iter()
        .flat_map(|endpoint| endpoint.list("addresses"))
        .filter_map(|address| address.as_str().map(str::to_owned))
        .collect();
    vec![
        row.name(),
        row.object.text("addressType").into(),
        or(first_three(&ports), "<unset>").into(),
        or(first_three(&addresses), "<unset>").into(),
        row.age(),
    ]
}
