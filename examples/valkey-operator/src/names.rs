//! The names and labels of what belongs to a Valkey.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// Selects what this program makes.
pub(crate) const SELECTOR: &str = "app.kubernetes.io/managed-by=valkey-operator";

/// The label with the name of the Valkey.
pub(crate) const VALKEY: &str = "valkey.example.com/name";

/// The label of pods that are instances of a Valkey, and not of a Job.
pub(crate) const COMPONENT: &str = "app.kubernetes.io/component";

pub(crate) fn labels(valkey: &str, component: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), "valkey".to_owned()),
        (
            "app.kubernetes.io/managed-by".to_owned(),
            "valkey-operator".to_owned(),
        ),
        (COMPONENT.to_owned(), component.to_owned()),
        (VALKEY.to_owned(), valkey.to_owned()),
    ])
}

pub(crate) fn metadata(name: String, valkey: &str, component: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        labels: Some(labels(valkey, component)),
        ..ObjectMeta::default()
    }
}

/// Selects the instances of a Valkey.
pub(crate) fn instances(valkey: &str) -> LabelSelector {
    let labels = BTreeMap::from([
        (VALKEY.to_owned(), valkey.to_owned()),
        (COMPONENT.to_owned(), "instance".to_owned()),
    ]);
    LabelSelector {
        match_labels: Some(labels),
        ..LabelSelector::default()
    }
}

pub(crate) fn password_secret(valkey: &str) -> String {
    format!("{valkey}-password")
}

pub(crate) fn settings(valkey: &str) -> String {
    format!("{valkey}-settings")
}

/// The Service without an address that gives each instance a name.
pub(crate) fn instance_service(valkey: &str) -> String {
    format!("{valkey}-instances")
}
