//! Bundles of certificates that clients trust.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::signer;
use crate::column::Column;
use crate::columns::Row;
use crate::columns::text::or_none;
use crate::columns::titles::NAME;
use crate::columns::titles::text;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of trust bundles.
#[derive(Debug)]
pub(crate) struct ClusterTrustBundle;

impl Strategy for ClusterTrustBundle {
    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
    }

    fn columns(&self) -> Vec<Column<'_>> {
        COLUMNS.to_vec()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        signer::check_field(field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        signer::field_value(object, field)
    }
}

const COLUMNS: &[Column<'static>] = &[NAME, text("SignerName", "whose certificates are trusted")];

fn cells(row: Row<'_>) -> Vec<Value> {
    let signer = or_none(row.spec().text("signerName"));
    vec![row.name(), signer.into()]
}
