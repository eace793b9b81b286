//! Numbers whose zero means their default.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Sets a number that is absent or zero.
pub(super) fn number(holder: &mut Value, field: &str, default: i64) {
    if holder.int(field).unwrap_or(0) == 0 {
        holder.put(field, default);
    }
}
