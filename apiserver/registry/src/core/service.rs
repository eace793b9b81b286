//! Services.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::{Value, json};

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::network::balancer_addresses;
use crate::columns::text::{count, labels, or, or_none};
use crate::core::validation::services;
use crate::fields;
use crate::services::normalize_addresses;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings;
use kubewright_validation::metadata::Rules;

const FIELDS: [&str; 2] = ["spec.clusterIP", "spec.type"];

/// The strategy of services.
#[derive(Debug)]
pub(crate) struct Service {
    metadata: Rules,
}

impl Service {
    pub(crate) const NEWEST: Self = Self {
        metadata: Rules::namespaced().with_name(names::dns1123_label),
    };

    /// Before 1.36, whose gate is `RelaxedServiceNameValidation`: a name begins with a letter.
    pub(crate) const STRICT: Self = Self {
        metadata: Rules::namespaced().with_name(names::dns1035_label),
    };
}

impl Strategy for Service {
    fn default(&self, object: &mut Value) {
        default(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        fill_status(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            return;
        }
        new.take_from(old, "status");
        normalize_addresses(new, Some(old));
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        self.metadata.create(object, errors);
        services::service(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                self.metadata.changed(new, old, errors);
                services::service_update(new, old, errors);
                services::service(new, errors);
            }
            "status" => {
                self.metadata.changed(new, old, errors);
                services::status(new, errors);
            }
            _ => {}
        }
    }

    fn status_warnings(&self, new: &Value) -> Vec<String> {
        warnings::addresses::balancer(new)
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        warnings::service(new, &mut out);
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn shows_as_stored(&self, text: &[u8], _revision: Option<u64>) -> bool {
        const EXTERNAL: &[u8] = br#""type":"ExternalName""#;
        memchr::memmem::find(text, EXTERNAL).is_none()
    }

    fn decorate(&self, object: &mut Value) {
        let spec = object.existing("spec");
        if let Some(spec) = spec.filter(|spec| spec.text("type") == "ExternalName") {
            spec.drop_field("internalTrafficPolicy");
            let single = spec.text("clusterIP").to_owned();
            if !single.is_empty() && spec.list("clusterIPs").is_empty() {
                spec.put("clusterIPs", json!([single]));
            }
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, true, field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, true, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        Some(fields::shown(fields::at(object, field)))
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.part("loadBalancer");
    }
}

fn default(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        service_spec(spec);
    }
    let balanced = object.at("spec").text("type") == "LoadBalancer";
    if let Some(status) = object.part("status")
        && let Some(balancer) = status.part("loadBalancer")
        && balanced
    {
        for ingress in balancer.each("ingress") {
            if !ingress.text("ip").is_empty() {
                ingress.fill("ipMode", "VIP");
            }
        }
    }
}

fn service_spec(spec: &mut Value) {
    spec.fill_text("sessionAffinity", "None");
    match spec.text("sessionAffinity") {
        "None" => spec.drop_field("sessionAffinityConfig"),
        "ClientIP" => {
            let client = spec.at("sessionAffinityConfig").at("clientIP");
            if !client.has("timeoutSeconds") {
                let three_hours = json!({ "clientIP": { "timeoutSeconds": 10800 } });
                spec.put("sessionAffinityConfig", three_hours);
            }
        }
        _ => {}
    }
    spec.fill_text("type", "ClusterIP");
    for port in spec.each("ports") {
        port.fill_text("protocol", "TCP");
        let target = port.at("targetPort");
        if target.is_null() || target.as_i64() == Some(0) || target.as_str() == Some("") {
            let number = port.at("port").clone();
            port.put(
                "targetPort",
                if number.is_null() { json!(0) } else { number },
            );
        }
    }
    let kind = spec.text("type").to_owned();
    let balanced = kind == "LoadBalancer";
    let external = balanced
        || kind == "NodePort"
        || (kind == "ClusterIP" && !spec.list("externalIPs").is_empty());
    if external {
        spec.fill_text("externalTrafficPolicy", "Cluster");
    }
    if balanced || kind == "NodePort" || kind == "ClusterIP" {
        spec.fill("internalTrafficPolicy", "Cluster");
    }
    if balanced {
        spec.fill("allocateLoadBalancerNodePorts", true);
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let own = spec.list("clusterIPs").first().and_then(Value::as_str);
    let ports: Vec<String> = spec.list("ports").iter().map(port_and_protocol).collect();
    vec![
        row.name(),
        spec.text("type").into(),
        own.unwrap_or("<none>").into(),
        external_address(spec, row.status()).into(),
        or_none(ports.join(",")).into(),
        row.age(),
        labels(spec.at("selector")).into(),
    ]
}

fn port_and_protocol(port: &Value) -> String {
    let (number, protocol) = (count(port, "port"), port.text("protocol"));
    match count(port, "nodePort") {
        0 => format!("{number}/{protocol}"),
        node => format!("{number}:{node}/{protocol}"),
    }
}

fn external_address(spec: &Value, status: &Value) -> String {
    let given: Vec<&str> = spec
        .list("externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    match spec.text("type") {
        "ClusterIP" | "NodePort" => or_none(given.join(",")),
        "LoadBalancer" => {
            let balancer = balancer_addresses(status);
            let all: Vec<&str> = std::iter::once(balancer.as_str())
                .filter(|addresses| !addresses.is_empty())
                .chain(given)
                .collect();
            or(all.join(","), "<pending>")
        }
        "ExternalName" => spec.text("externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}
