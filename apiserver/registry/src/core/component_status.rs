//! The status of components, which is made and never stored.

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::column::Column;
use crate::columns::Row;
use crate::columns::titles::NAME;
use crate::columns::titles::text;
use crate::strategy::Strategy;

/// The strategy of the status of components.
#[derive(Debug)]
pub(crate) struct ComponentStatus;

impl Strategy for ComponentStatus {
    fn columns(&self) -> Vec<Column<'_>> {
        COLUMNS.to_vec()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

const COLUMNS: &[Column<'static>] = &[
    NAME,
    text("Status", "the state of the component"),
    text("Message", "what it says"),
    text("Error", "what is wrong"),
];

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
