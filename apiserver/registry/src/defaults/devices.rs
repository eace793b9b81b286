//! Defaults of claims for devices, and of what drivers say of them.

use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Defaults of a claim, or of a template's part of that form.
pub(crate) fn claim(object: &mut Value) {
    let devices = object.part("spec").and_then(|spec| spec.part("devices"));
    if let Some(devices) = devices {
        for request in devices.each("requests") {
            if let Some(exact) = request.existing("exactly") {
                self::request(exact);
            }
            for alternative in request.each("firstAvailable") {
                self::request(alternative);
            }
        }
    }
    let allocated = object
        .existing("status")
        .and_then(|status| status.existing("allocation"))
        .and_then(|allocation| allocation.existing("devices"));
    if let Some(allocated) = allocated {
        for result in allocated.each("results") {
            tolerations(result);
        }
    }
}

/// A taint is from when it was first said.
pub(crate) fn slice(object: &mut Value) {
    let Some(spec) = object.existing("spec") else {
        return;
    };
    for device in spec.each("devices") {
        for taint in device.each("taints") {
            if !taint.has("timeAdded") {
                taint.put("timeAdded", now());
            }
        }
    }
}

fn request(request: &mut Value) {
    request.fill_text("allocationMode", "ExactCount");
    if request.text("allocationMode") == "ExactCount" && request.int("count").unwrap_or(0) == 0 {
        request.put("count", 1);
    }
    tolerations(request);
}

fn tolerations(holder: &mut Value) {
    for toleration in holder.each("tolerations") {
        toleration.fill_text("operator", "Equal");
    }
}
