//! Ingresses.

use std::net::IpAddr;

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use super::reference::reference;
use crate::columns::Row;
use crate::columns::network::balancer_addresses;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::addresses;
use kubewright_validation::check::{Errors, problems, required, subdomain};
use kubewright_validation::formats;
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["networking.k8s.io", "v1", "Ingress"];
const METADATA: Rules = Rules::namespaced();

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// The strategy of ingresses.
#[derive(Debug)]
pub(crate) struct Ingress {
    service: Name,
}

/// What is wrong with the name of a service.
type Name = fn(&str) -> Vec<String>;

impl Ingress {
    pub(crate) const NEWEST: Self = Self {
        service: names::dns1123_label,
    };

    /// Before 1.36, whose gate is `RelaxedServiceNameValidation`: services begin with a letter.
    pub(crate) const STRICT: Self = Self {
        service: names::dns1035_label,
    };
}

impl Strategy for Ingress {
    fn default(&self, object: &mut Value) {
        object.part("spec");
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        fill_status(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        let allowed = Allowed::new(self.service);
        check(object, &allowed, &mut found.errors);
        check_annotation(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        if subresource == "status" {
            return check_balancer(new.at("status"), &Path::new("status"), errors);
        }
        METADATA.create(new, errors);
        check(new, &Allowed::after(old, self.service), errors);
    }

    fn status_warnings(&self, new: &Value) -> Vec<String> {
        addresses::balancer(new)
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let is_annotated = new.at("metadata").at("annotations").has(INGRESS_CLASS);
        if !old.is_null() || !is_annotated || new.at("spec").has("ingressClassName") {
            return Vec::new();
        }
        vec![format!(
            "annotation {} is deprecated, please use 'spec.ingressClassName' instead",
            quoted(INGRESS_CLASS)
        )]
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.part("loadBalancer");
    }
}

/// What an ingress may have, which depends on what it had.
#[derive(Clone, Copy)]
struct Allowed {
    service: Name,
    any_wildcard: bool,
}

impl Allowed {
    fn new(service: Name) -> Self {
        Self {
            service,
            any_wildcard: false,
        }
    }

    fn after(old: &Value, service: Name) -> Self {
        let rules = old.at("spec").list("rules");
        let paths = rules.iter().flat_map(|rule| rule.at("http").list("paths"));
        let first = old.at("spec").at("defaultBackend");
        let mut backends = paths.map(|path| path.at("backend")).chain([first]);
        let begins_otherwise = backends.any(|backend| {
            let name = backend.at("service").text("name");
            names::dns1123_label(name).is_empty() && !names::dns1035_label(name).is_empty()
        });
        Self {
            service: if begins_otherwise {
                names::dns1123_label
            } else {
                service
            },
            any_wildcard: rules.iter().any(was_wrong),
        }
    }
}

/// Whether a rule for all hosts of a domain counts as one of before such rules were checked. Those whose services' names do
/// not begin with a letter do so in each version.
fn was_wrong(rule: &Value) -> bool {
    let mut found = Errors::new();
    let strict = Allowed::new(names::dns1035_label);
    paths(rule, &Path::root(), &strict, &mut found);
    rule.text("host").contains('*') && !found.is_empty()
}

fn check(object: &Value, allowed: &Allowed, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let rules = spec.list("rules");
    if rules.is_empty() && !spec.has("defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(&path, spec.at("rules").clone(), detail));
    }
    if spec.has("defaultBackend") {
        let at = path.child("defaultBackend");
        backend(spec.at("defaultBackend"), &at, allowed, errors);
    }
    let at = path.child("rules");
    for (index, rule) in rules.iter().enumerate() {
        ingress_rule(rule, &at.index(index), allowed, errors);
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

/// Checks that the class annotation of a new ingress matches its `ingressClassName`.
fn check_annotation(object: &Value, errors: &mut Errors) {
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

/// Checks the addresses of the load balancer of an ingress.
fn check_balancer(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("loadBalancer.ingress");
    for (index, ingress) in status.at("loadBalancer").list("ingress").iter().enumerate() {
        let at = path.index(index);
        let (ip, host) = (ingress.text("ip"), ingress.text("hostname"));
        if !ip.is_empty() {
            kubewright_validation::check::ip(ip, &at.child("ip"), errors);
        }
        if !host.is_empty() {
            let at = at.child("hostname");
            subdomain(&at, host, errors);
            if formats::without_zeros(host).parse::<IpAddr>().is_ok() {
                let detail = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(&at, host, detail));
            }
        }
    }
}

fn ingress_rule(rule: &Value, path: &Path<'_>, allowed: &Allowed, errors: &mut Errors) {
    let host = rule.text("host");
    if !host.is_empty() {
        self::host(host, &path.child("host"), errors);
    }
    if !host.contains('*') || !allowed.any_wildcard {
        paths(rule, path, allowed, errors);
    }
}

fn paths(rule: &Value, path: &Path<'_>, allowed: &Allowed, errors: &mut Errors) {
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
        let at = at.child("backend");
        backend(item.at("backend"), &at, allowed, errors);
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

fn backend(backend: &Value, path: &Path<'_>, allowed: &Allowed, errors: &mut Errors) {
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
        reference(
            backend.at("resource"),
            &path.child("resource"),
            required,
            errors,
        );
        return;
    }
    let (service, at) = (backend.at("service"), path.child("service"));
    if required(service, &at, "name", errors) {
        let name = service.text("name");
        let found = (allowed.service)(name);
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
        kubewright_validation::check::port(number, &at.child("port.number"), errors);
    } else {
        let at = at.child("port.name");
        problems(&at, name, formats::port_name(name), errors);
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let class = spec.at("ingressClassName").as_str().unwrap_or("<none>");
    let ports = if spec.list("tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        row.name(),
        class.into(),
        hosts(spec.list("rules")).into(),
        balancer_addresses(row.status()).into(),
        ports.into(),
        row.age(),
    ]
}

fn hosts(rules: &[Value]) -> String {
    let mut shown = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == 3;
        if !more && !rule.text("host").is_empty() {
            shown.push(rule.text("host"));
        }
    }
    match (shown.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (_, false) => shown.join(","),
        (_, true) => format!("{} + {} more...", shown.join(","), rules.len() - 3),
    }
}
