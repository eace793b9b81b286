//! Profiles of seccomp and AppArmor that are said twice, by a field and by the annotation from before there was one.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::Errors;

const SECCOMP: Profile = Profile {
    what: "seccomp",
    annotation: "container.seccomp.security.alpha.kubernetes.io/",
    field: "seccompProfile",
    defaults: &["runtime/default", "docker/default"],
};

const APP_ARMOR: Profile = Profile {
    what: "apparmor",
    annotation: "container.apparmor.security.beta.kubernetes.io/",
    field: "appArmorProfile",
    defaults: &["runtime/default"],
};

/// What a new pod, or a template, says in both ways is the same. `path` is that of its spec.
pub(super) fn said_twice(pod: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (annotations, spec) = (pod.at("metadata").at("annotations"), pod.at("spec"));
    if annotations.is_null() {
        return;
    }
    let of_pod = spec.at("securityContext");
    let said = annotations.at("seccomp.security.alpha.kubernetes.io/pod");
    SECCOMP.agrees(said, of_pod, &path.child("securityContext"), errors);
    SECCOMP.agrees_in_containers(pod, &Value::Null, path, errors);
    if spec.at("os").text("name") != "windows" {
        APP_ARMOR.agrees_in_containers(pod, of_pod, path, errors);
    }
}

struct Profile {
    what: &'static str,
    /// What the name of a container follows in its annotation.
    annotation: &'static str,
    field: &'static str,
    /// What the annotation calls the profile of the runtime.
    defaults: &'static [&'static str],
}

impl Profile {
    /// `fallback` is the security context that counts for containers without a profile.
    fn agrees_in_containers(
        &self,
        pod: &Value,
        fallback: &Value,
        path: &Path<'_>,
        errors: &mut Errors,
    ) {
        let (annotations, spec) = (pod.at("metadata").at("annotations"), pod.at("spec"));
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            let path = path.child(list);
            for (index, container) in spec.list(list).iter().enumerate() {
                let own = container.at("securityContext");
                let context = if own.has(self.field) { own } else { fallback };
                let said = [self.annotation, container.text("name")].concat();
                let at = path.index(index);
                let at = at.child("securityContext");
                self.agrees(annotations.at(&said), context, &at, errors);
            }
        }
    }

    fn agrees(&self, said: &Value, context: &Value, path: &Path<'_>, errors: &mut Errors) {
        let Some(said) = said.as_str() else {
            return;
        };
        let profile = context.at(self.field);
        let local = said.strip_prefix("localhost/");
        let is_of_type = match profile.text("type") {
            "Unconfined" => said == "unconfined",
            "RuntimeDefault" => self.defaults.contains(&said),
            "Localhost" => local.is_some(),
            _ => return,
        };
        let (at, what) = (path.child(self.field), self.what);
        if !is_of_type {
            let detail = format!("{what} type in annotation and field must match");
            errors.push(FieldError::forbidden(&at.child("type"), &detail));
        } else if local.is_some_and(|local| local != profile.text("localhostProfile")) {
            let detail = format!("{what} profile in annotation and field must match");
            errors.push(FieldError::forbidden(
                &at.child("localhostProfile"),
                &detail,
            ));
        }
    }
}
