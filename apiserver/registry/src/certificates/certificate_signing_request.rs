//! Requests for certificates.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::{Value, json};

use super::conditions::condition_times;
use super::{request, signer};
use crate::columns::Row;
use crate::columns::text::{duration, or_none};
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::is_zero;

/// Any name will do.
const METADATA: Rules = Rules::cluster_scoped().with_name(|_| Vec::new());

/// The strategy of requests for certificates.
#[derive(Debug)]
pub(crate) struct CertificateSigningRequest;

impl Strategy for CertificateSigningRequest {
    fn default(&self, object: &mut Value) {
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, creation: &mut Creation<'_>) {
        object.put("status", empty());
        asked_by(object, creation.user);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        match subresource {
            "status" => condition_times(new, old),
            "approval" => {
                condition_times(new, old);
                let mut status = old.at("status").clone();
                status.take_from(new.at("status"), "conditions");
                new.put("status", status);
            }
            _ => new.take_from(old, "status"),
        }
        new.take_from(old, "spec");
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        request::create(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        request::update(subresource, new, old, &mut found.errors);
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"], &["status", "conditions"]],
            "approval" => &[&["spec"], &["status", "certificate"]],
            _ => &[&["spec"], &["status"]],
        }
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

/// Sets the requestor's fields from the authenticated user, over any values that the client sent.
fn asked_by(object: &mut Value, user: &User) {
    if let Some(spec) = object.part("spec") {
        for (field, value) in [
            ("username", json!(user.username)),
            ("uid", json!(user.uid)),
            ("groups", json!(user.groups)),
            ("extra", json!(user.extra)),
        ] {
            if is_zero(&value) || value == "" {
                spec.drop_field(field);
            } else {
                spec.put(field, value);
            }
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let has = |kind: &str| {
        let conditions = status.list("conditions");
        conditions.iter().any(|c| c.text("type") == kind)
    };
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !status.text("certificate").is_empty() {
        state.push_str(",Issued");
    }
    let wanted = spec.int("expirationSeconds");
    vec![
        row.name(),
        row.age(),
        or_none(spec.text("signerName")).into(),
        spec.text("username").into(),
        wanted.map_or("<none>".to_owned(), duration).into(),
        state.into(),
    ]
}
