//! Pods.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::fields;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
mod app_armor;
mod claims;
mod container_statuses;
mod resize;
mod resources;
mod update;
mod writes;

use self::resize::Resizable;
use crate::columns::pods;
use crate::defaults::pod::pod;
use crate::pod_gates;
use crate::quality_of_service::Counted;
use crate::warnings::pod::template;
use crate::warnings::{addresses, name};
use kubewright_validation::pod as validation;

const KIND: [&str; 3] = ["", "v1", "Pod"];

const FIELDS: [&str; 10] = [
    "spec.nodeName",
    "spec.host",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];

/// The strategy of pods.
#[derive(Debug)]
pub(crate) struct Pod {
    completed: Completed,
    resizable: Resizable,
}

/// When the resources of a pod as a whole are completed by those of its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completed {
    /// When it is stored, after admission.
    WhenStored,
    /// Among its defaults.
    ByDefault,
}

impl Pod {
    pub(crate) const NEWEST: Self = Self {
        completed: Completed::WhenStored,
        resizable: Resizable::Everything,
    };

    /// Before 1.37, whose gate is `PodLevelResourcesFixDefaulting`.
    pub(crate) const COMPLETED_BY_DEFAULT: Self = Self {
        completed: Completed::ByDefault,
        resizable: Resizable::Everything,
    };

    /// Before 1.36, whose gates are `InPlacePodLevelResourcesVerticalScaling` and `InPlacePodVerticalScalingInitContainers`.
    pub(crate) const RESIZED_BY_CONTAINER: Self = Self {
        completed: Completed::ByDefault,
        resizable: Resizable::LastingContainers,
    };

    /// What 1.37 decides by the gate `PodLevelResourcesFixKubeletQOSClass`.
    fn counted(&self) -> Counted {
        match self.completed {
            Completed::WhenStored => Counted::Set,
            Completed::ByDefault => Counted::Present,
        }
    }

    fn complete_to_store(&self, object: &mut Value) {
        if self.completed == Completed::WhenStored {
            resources::complete(object);
        }
    }

    fn keep_resources(&self, new: &mut Value, old: &Value) {
        if self.completed == Completed::WhenStored {
            writes::keep_resources(new, old);
        }
    }
}

impl Strategy for Pod {
    fn default(&self, object: &mut Value) {
        pod(object);
        if self.completed == Completed::ByDefault {
            resources::complete_by_default(object);
        }
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, creation: &mut Creation<'_>) {
        generation::start(object);
        pod_gates::close(object, &["spec"]);
        self.complete_to_store(object);
        writes::create(object, self.counted());
        creation.warnings.extend(app_armor::sync(object));
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        match subresource {
            "" => {
                self.keep_resources(new, old);
                pod_gates::close(new, &["spec"]);
                new.take_from(old, "status");
            }
            "ephemeralcontainers" => {
                writes::ephemeral_containers(new, old);
                pod_gates::close(new, &["spec"]);
            }
            "resize" => {
                resize::prepare(new, old, self.resizable);
                pod_gates::close(new, &["spec"]);
                self.keep_resources(new, old);
                self.complete_to_store(new);
            }
            "status" => {
                if let Some(metadata) = new.part("metadata") {
                    metadata.take_from(old.at("metadata"), "deletionTimestamp");
                }
                writes::status(new, old);
                return pod_gates::close(new, &["spec"]);
            }
            _ => return,
        }
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        update::METADATA.create(object, errors);
        validation::create(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => update::update(new, old, errors),
            "status" => update::status(new, old, errors),
            "ephemeralcontainers" => update::ephemeral_containers(new, old, errors),
            "resize" => resize::validate(new, old, self.resizable, self.counted(), errors),
            _ => {}
        }
    }

    fn status_warnings(&self, new: &Value) -> Vec<String> {
        let mut out = Vec::new();
        let status = Path::new("status");
        for list in ["podIPs", "hostIPs"] {
            let path = status.child(list);
            for (index, address) in new.at("status").list(list).iter().enumerate() {
                let at = path.index(index);
                addresses::ip(&at.child("ip"), address.text("ip"), &mut out);
            }
        }
        out
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        if old.is_null() {
            name(new, "used in the Pod's hostname", &mut out);
            template(&Path::root(), new, false, &mut out);
        }
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        pods::pod(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, true, field)
    }

    fn indexed_field(&self) -> Option<&'static str> {
        Some("spec.nodeName")
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, true, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        Some(match field {
            "status.podIP" => first_address(object, 1).into(),
            "status.podIPs" => first_address(object, usize::MAX).into(),
            "spec.host" => object.at("spec").text("nodeName").into(),
            _ => match fields::at(object, field) {
                // Go's values that are not pointers have one even where it is not written.
                Value::Null if field == "spec.hostNetwork" => "false".into(),
                other => fields::shown(other),
            },
        })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }

    /// How many seconds a deletion waits: `None` for kinds that do not wait, 0 for at once.
    ///
    /// `requested` is what the client's options say.
    fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        let spec = object.at("spec");
        let ended = matches!(object.at("status").text("phase"), "Failed" | "Succeeded");
        if spec.text("nodeName").is_empty() || ended {
            return Some(0);
        }
        let period = requested.or_else(|| spec.int("terminationGracePeriodSeconds"));
        match period.unwrap_or(0) {
            period if period < 0 => Some(1),
            period => Some(period),
        }
    }
}

fn first_address(object: &Value, most: usize) -> String {
    let addresses = object.at("status").list("podIPs");
    let ips: Vec<&str> = addresses
        .iter()
        .map(|address| address.text("ip"))
        .take(most)
        .collect();
    ips.join(",")
}
