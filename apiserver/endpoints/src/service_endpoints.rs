//! The ready endpoints of a Service: of its Endpoints, or else of its EndpointSlices.

use std::net::IpAddr;

use kubewright_admission::Cluster;
use serde_json::Value;

/// The name of a port of a Service; empty for one without a name.
pub(crate) fn port_name(service: &Value, port: u16) -> Option<&str> {
    let mut ports = items(&service["spec"]["ports"]);
    let port = ports.find(|known| known["port"] == port)?;
    Some(port["name"].as_str().unwrap_or_default())
}

/// The addresses at which the port of this name is ready.
pub(crate) fn ready(cluster: &impl Cluster, service: &Value, port: &str) -> Vec<(IpAddr, u16)> {
    let metadata = &service["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    if let Some(endpoints) = cluster.get("", "endpoints", namespace, name) {
        let ready = of_endpoints(&endpoints, port);
        if !ready.is_empty() {
            return ready;
        }
    }
    let slices = cluster.list("discovery.k8s.io", "endpointslices", namespace);
    let own = slices
        .iter()
        .filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == name);
    own.flat_map(|slice| of_slice(slice, port)).collect()
}

fn of_endpoints(endpoints: &Value, port: &str) -> Vec<(IpAddr, u16)> {
    let subsets = items(&endpoints["subsets"]);
    subsets
        .flat_map(|subset| {
            let number = number(&subset["ports"], port);
            let addresses = items(&subset["addresses"]);
            let addresses = addresses.filter_map(|address| address["ip"].as_str()?.parse().ok());
            addresses.filter_map(move |address| Some((address, number?)))
        })
        .collect()
}

fn of_slice(slice: &Value, port: &str) -> Vec<(IpAddr, u16)> {
    let Some(number) = number(&slice["ports"], port) else {
        return Vec::new();
    };
    let endpoints = items(&slice["endpoints"]);
    // Without the condition, an endpoint is ready.
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] != false);
    let first = ready.filter_map(|endpoint| endpoint["addresses"][0].as_str()?.parse().ok());
    first.map(|address| (address, number)).collect()
}

fn number(ports: &Value, name: &str) -> Option<u16> {
    let mut ports = items(ports);
    let port = ports.find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    u16::try_from(port["port"].as_u64()?).ok()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_port_of_a_service_is_found_by_its_name() {
        let service = json!({"spec": {"ports": [{"name": "a", "port": 1}, {"port": 2}]}});
        assert_eq!(port_name(&service, 1), Some("a"));
        assert_eq!(port_name(&service, 2), Some(""));
        assert_eq!(port_name(&service, 3), None);
    }

    #[test]
    fn only_ready_addresses_of_subsets_with_the_port_count() {
        let endpoints = json!({"subsets": [
            {
                "addresses": [{"ip": "10.0.0.1"}],
                "notReadyAddresses": [{"ip": "10.0.0.2"}],
                "ports": [{"name": "a", "port": 8080}],
            },
            {"addresses": [{"ip": "10.0.0.3"}], "ports": [{"name": "b", "port": 8081}]},
        ]});
        let expected = [("10.0.0.1".parse().unwrap(), 8080)];
        assert_eq!(of_endpoints(&endpoints, "a"), expected);
    }

    #[test]
    fn endpoints_of_a_slice_are_ready_unless_it_says_otherwise() {
        let slice = json!({
            "ports": [{"name": "", "port": 80}],
            "endpoints": [
                {"addresses": ["10.0.0.1"]},
                {"addresses": ["10.0.0.2"], "conditions": {"ready": false}},
                {"addresses": ["10.0.0.3"], "conditions": {"ready": true}},
            ],
        });
        let expected = ["10.0.0.1", "10.0.0.3"].map(|ip| (ip.parse().unwrap(), 80));
        assert_eq!(of_slice(&slice, ""), expected);
        assert_eq!(of_slice(&slice, "b"), []);
    }
}
