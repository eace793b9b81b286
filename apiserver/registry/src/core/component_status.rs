//! The status of components, which is made and never stored.

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::columns::Row;
use crate::strategy::Strategy;

/// The strategy of the status of components.
#[derive(Debug)]
pub(crate) struct ComponentStatus;

impl Strategy for ComponentStatus {
    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let healthy = row
        .object
        .list("conditions")
        .iter()
        .find(|condition| condition.text("type") == "Healthy");
    let (state, message, error) = healthy.map_or(("Unknown", "", ""), |condition| {
        let state = match condition.text("status") {
            "True" => "Healthy",
            _ => "Unhealthy",
        };
        (state, condition.text("message"), condition.text("error"))
    });
    vec![row.name(), state.into(), message.into(), error.into()]
}
