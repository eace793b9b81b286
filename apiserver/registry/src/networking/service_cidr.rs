//! Ranges of addresses for services.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::columns::Row;
use crate::metadata;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{Errors, problems};
use kubewright_validation::formats;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of ranges of addresses.
#[derive(Debug)]
pub(crate) struct ServiceCIDR;

impl Strategy for ServiceCIDR {
    fn default(&self, object: &mut Value) {
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            metadata::reset(new, old);
            new.take_from(old, "spec");
        } else {
            new.take_from(old, "status");
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
        if subresource.is_empty() {
            check_update(new, old, &mut found.errors);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

/// A range of addresses for services: one, or one of each family.
fn check(object: &Value, errors: &mut Errors) {
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

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (now, before) = (new.at("spec").list("cidrs"), old.at("spec").list("cidrs"));
    let path = Path::new("spec.cidrs");
    let grown = before.len() == 1 && now.len() == 2;
    if now.len() != before.len() && !grown {
        let value = new.at("spec").at("cidrs").clone();
        errors.push(FieldError::invalid(
            &path,
            value,
            kubewright_validation::check::IMMUTABLE,
        ));
        return;
    }
    for (index, (now, before)) in now.iter().zip(before).enumerate() {
        if now != before {
            let at = path.index(index);
            errors.push(FieldError::invalid(
                &at,
                now.clone(),
                kubewright_validation::check::IMMUTABLE,
            ));
        }
    }
    if grown {
        check(new, errors);
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let ranges: Vec<&str> = row
        .spec()
        .list("cidrs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    vec![row.name(), ranges.join(",").into(), row.age()]
}
