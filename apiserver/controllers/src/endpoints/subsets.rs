//! The subsets of Endpoints in their canonical form: addresses that offer the same ports stand together.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::object::{list, text};
use super::ports::PortKey;

/// An address and the UID of its target.
type AddressKey = (String, String);

/// Packs subsets anew. An address that is both ready and not ready at a port is not ready there.
pub(super) fn repacked(subsets: &[Value]) -> Vec<Value> {
    let mut known: BTreeMap<AddressKey, &Value> = BTreeMap::new();
    let mut offers: BTreeMap<Option<PortKey>, (Value, BTreeMap<AddressKey, bool>)> =
        BTreeMap::new();
    for subset in subsets {
        let mut ports: Vec<(Option<PortKey>, &Value)> = list(subset, "/ports")
            .iter()
            .map(|port| (Some(PortKey::of(port)), port))
            .collect();
        if ports.is_empty() {
            ports.push((None, &Value::Null));
        }
        let ready = list(subset, "/addresses").iter().map(|own| (own, true));
        let unready = list(subset, "/notReadyAddresses").iter();
        let addresses: Vec<_> = ready.chain(unready.map(|own| (own, false))).collect();
        for (key, port) in ports {
            let (_, offering) = offers
                .entry(key)
                .or_insert_with(|| (port.clone(), BTreeMap::new()));
            for (address, ready) in &addresses {
                let at = key_of(address);
                known.entry(at.clone()).or_insert(address);
                let state = offering.entry(at).or_insert(*ready);
                *state &= ready;
            }
        }
    }
    let mut packed: BTreeMap<BTreeMap<AddressKey, bool>, Vec<Value>> = BTreeMap::new();
    for (port, offering) in offers.into_values() {
        let ports = packed.entry(offering).or_default();
        if !port.is_null() {
            ports.push(port);
        }
    }
    packed
        .into_iter()
        .map(|(addresses, ports)| {
            let of = |state: bool| -> Vec<Value> {
                addresses
                    .iter()
                    .filter(|(_, ready)| **ready == state)
                    .filter_map(|(key, _)| known.get(key).map(|own| (*own).clone()))
                    .collect()
            };
            let mut subset = Map::new();
            let fields = [
                ("addresses", of(true)),
                ("notReadyAddresses", of(false)),
                ("ports", ports),
            ];
            for (field, values) in fields {
                if !values.is_empty() {
                    subset.insert(field.to_owned(), values.into());
                }
            }
            Value::Object(subset)
        })
        .collect()
}

fn key_of(address: &Value) -> AddressKey {
    let uid = text(address, "/targetRef/uid").to_owned();
    (text(address, "/ip").to_owned(), uid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_of_the_same_ports_stand_in_one_subset() {
        let [http, admin] = [("http", 80), ("admin", 81)]
            .map(|(name, port)| json!({"name": name, "port": port, "protocol": "TCP"}));
        let subset = |ip: &str, port: &Value| json!({"addresses": [{"ip": ip}], "ports": [port]});
        let subsets = [
            subset("10.0.0.2", &http),
            subset("10.0.0.1", &http),
            subset("10.0.0.1", &admin),
            subset("10.0.0.2", &admin),
        ];
        let expected = json!([{
            "addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}],
            "ports": [admin, http],
        }]);
        assert_eq!(Value::from(repacked(&subsets)), expected);
    }

    #[test]
    fn an_address_that_is_both_ready_and_not_is_not_ready() {
        let ports = json!([{"port": 80, "protocol": "TCP"}]);
        let subsets = [
            json!({"addresses": [{"ip": "10.0.0.1"}], "ports": ports}),
            json!({"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": ports}),
        ];
        assert_eq!(repacked(&subsets), [subsets[1].clone()]);
    }

    #[test]
    fn addresses_without_ports_are_kept() {
        let subsets = [json!({"addresses": [{"ip": "10.0.0.1"}]})];
        assert_eq!(repacked(&subsets), subsets);
    }
}
