//! Endpoints.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::{count, first_three};
use crate::core::validation::services;
use crate::strategy::{Findings, Strategy};
use crate::warnings::addresses;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints;

impl Strategy for Endpoints {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        services::endpoints(object, &Value::Null, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        METADATA.create(new, errors);
        services::endpoints(new, old, errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        addresses::endpoints(new, &mut out);
        out
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            ..Behavior::default()
        }
    }
}

fn default(object: &mut Value) {
    for subset in object.each("subsets") {
        for port in subset.each("ports") {
            port.fill_text("protocol", "TCP");
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
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
