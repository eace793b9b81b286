//! The rows of services, endpoints and the networking kinds.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{count, first_three, labels, or, or_none, selector};

pub(super) fn service(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let own = spec.list("clusterIPs").first().and_then(Value::as_str);
    let ports: Vec<String> = spec.list("ports").iter().map(port).collect();
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

pub(super) fn endpoints(row: Row<'_>) -> Vec<Value> {
    let subsets = row.object.list("subsets");
    if subsets.is_empty() {
        return vec![row.name(), "<none>".into(), row.age()];
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses = || {
            let addresses = subset.list("addresses").iter();
            addresses.map(|address| address.text("ip"))
        };
        if subset.list("ports").is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in subset.list("ports") {
            let port = count(port, "port");
            all.extend(addresses().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{port}")
                } else {
                    format!("{ip}:{port}")
                }
            }));
        }
    }
    vec![row.name(), first_three(&all).into(), row.age()]
}

pub(super) fn endpoint_slice(row: Row<'_>) -> Vec<Value> {
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

pub(super) fn ingress(row: Row<'_>) -> Vec<Value> {
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

pub(super) fn ingress_class(row: Row<'_>) -> Vec<Value> {
    let parameters = row.spec().at("parameters");
    let shown = if parameters.is_null() {
        "<none>".to_owned()
    } else {
        let group = parameters.at("apiGroup").as_str();
        let group = group.map_or(String::new(), |group| format!(".{group}"));
        let (kind, name) = (parameters.text("kind"), parameters.text("name"));
        format!("{kind}{group}/{name}")
    };
    let controller = row.spec().text("controller").into();
    vec![row.name(), controller, shown.into(), row.age()]
}

pub(super) fn network_policy(row: Row<'_>) -> Vec<Value> {
    let pods = or_none(selector(row.spec().at("podSelector")));
    vec![row.name(), pods.into(), row.age()]
}

pub(super) fn service_cidr(row: Row<'_>) -> Vec<Value> {
    let ranges: Vec<&str> = row
        .spec()
        .list("cidrs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    vec![row.name(), ranges.join(",").into(), row.age()]
}

pub(super) fn ip_address(row: Row<'_>) -> Vec<Value> {
    let parent = row.spec().at("parentRef");
    if parent.is_null() {
        return vec![row.name(), "<none>".into(), row.age()];
    }
    let mut shown = parent.text("resource").to_owned();
    for (mark, part) in [
        ('.', parent.text("group")),
        ('/', parent.text("namespace")),
        ('/', parent.text("name")),
    ] {
        if !part.is_empty() {
            shown.push(mark);
            shown.push_str(part);
        }
    }
    vec![row.name(), shown.into(), row.age()]
}

fn port(port: &Value) -> String {
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

fn balancer_addresses(status: &Value) -> String {
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
