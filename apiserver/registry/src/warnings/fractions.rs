//! Warnings about fractions of bytes.

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

pub(crate) fn claim(path: &Path<'_>, spec: &Value, out: &mut Vec<String>) {
    let resources = path.child("resources");
    for list in ["limits", "requests"] {
        fractions(
            &resources.child(list),
            spec.at("resources").at(list),
            &["storage"],
            out,
        );
    }
}

pub(crate) fn fractions(path: &Path<'_>, list: &Value, resources: &[&str], out: &mut Vec<String>) {
    for name in resources {
        let quantity = Quantity::from_value(list.at(name));
        if let Some(quantity) = quantity.filter(|quantity| !quantity.is_whole()) {
            out.push(format!(
                "{}: fractional byte value \"{quantity}\" is invalid, must be an integer",
                path.key(name)
            ));
        }
    }
}
