//! Defaults of parts that containers, volumes, quotas and nodes share: lists of resources and references to fields.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::Edit as _;
use serde_json::Value;

/// Kubernetes keeps a precision of one thousandth in every resource list.
pub(crate) fn resource_list(list: &mut Value) {
    let Some(list) = list.as_object_mut() else {
        return;
    };
    for quantity in list.values_mut() {
        let fine = quantity
            .as_str()
            .is_some_and(|text| text.ends_with(['n', 'u']) || text.contains("e-"));
        if fine && let Some(parsed) = Quantity::from_value(quantity) {
            *quantity = parsed.rounded_up_to_milli().to_string().into();
        }
    }
}

/// The lists of what a container or a claim asks for.
pub(crate) fn requirements(resources: &mut Value) {
    for list in ["limits", "requests"] {
        if let Some(list) = resources.existing(list) {
            resource_list(list);
        }
    }
}

pub(crate) fn field_reference(holder: &mut Value) {
    if let Some(reference) = holder.existing("fieldRef") {
        reference.fill_text("apiVersion", "v1");
    }
    if let Some(reference) = holder.existing("resourceFieldRef") {
        // Quantity is a struct in Go: an absent divisor is written as zero.
        reference.fill("divisor", "0");
    }
}
