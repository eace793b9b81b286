//! Deployments, replica sets, stateful sets, daemon sets and replication controllers.

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use kubewright_validation::check::{
    Errors, IMMUTABLE, at_most_hundred_percent, count_or_percent, declaratively,
    declaratively_swapped, immutable_as, is_empty_selector, is_zero_count, label, not_negative,
    one_of, selector,
};
use kubewright_validation::claims::claim_spec;
use kubewright_validation::internal::shown;
use kubewright_validation::pod;

const SELECTOR: &str = "?m.LabelSelector";
pub(crate) const MISMATCH: &str = "`selector` does not match template `labels`";

pub(crate) fn deployment(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    not_negative(spec, &path, "replicas", errors);
    replica_selector(spec, &path, errors);
    deployment_strategy(spec.at("strategy"), &path.child("strategy"), errors);
    not_negative(spec, &path, "minReadySeconds", errors);
    not_negative(spec, &path, "revisionHistoryLimit", errors);
    if let Some(deadline) = spec.int("progressDeadlineSeconds") {
        not_negative(spec, &path, "progressDeadlineSeconds", errors);
        if deadline <= spec.int("minReadySeconds").unwrap_or(0) {
            errors.push(FieldError::invalid(
                &path.child("progressDeadlineSeconds"),
                deadline,
                "must be greater than minReadySeconds",
            ));
        }
    }
}

pub(crate) fn replica_set(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    not_negative(spec, &path, "replicas", errors);
    not_negative(spec, &path, "minReadySeconds", errors);
    replica_selector(spec, &path, errors);
}

pub(crate) fn replication_controller(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let wanted = spec.at("selector");
    let empty = wanted.as_object().is_none_or(serde_json::Map::is_empty);
    let declared = |field: &str, errors: &mut Errors| {
        declaratively(errors, |errors| not_negative(spec, &path, field, errors));
    };
    declaratively_swapped(
        errors,
        |errors| declared("minReadySeconds", errors),
        |errors| {
            if empty {
                errors.push(FieldError::required(&path.child("selector"), ""));
            }
            declared("replicas", errors);
        },
    );
    let at = path.child("template");
    if !spec.has("template") {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    if !empty {
        // The keys and values of this selector are never looked at themselves.
        let labels = spec.at("template").at("metadata").at("labels");
        let mut pairs = wanted.as_object().into_iter().flatten();
        if !pairs.all(|(key, value)| labels.get(key) == Some(value)) {
            no_match(spec, &at, errors);
        }
    }
    pod::template(spec.at("template"), &at, errors);
    always(spec, &at, "ReplicationController", errors);
}

/// A new stateful set. What cannot change is not looked at again later, for objects that are older than the rules.
pub(crate) fn stateful_set(object: &Value, old: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    match spec.text("podManagementPolicy") {
        "OrderedReady" | "Parallel" => {}
        "" => errors.push(FieldError::required(&path.child("podManagementPolicy"), "")),
        other => errors.push(FieldError::invalid(
            &path.child("podManagementPolicy"),
            other,
            "must be 'OrderedReady' or 'Parallel'",
        )),
    }
    stateful_strategy(spec.at("updateStrategy"), &path, errors);
    let retention = spec.at("persistentVolumeClaimRetentionPolicy");
    let at = path.child("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        if retention.is_object() {
            one_of(retention, &at, field, &["Retain", "Delete"], errors);
        }
    }
    if old.is_null() {
        let at = path.child("volumeClaimTemplates");
        for (index, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
            let at = at.index(index);
            claim_spec(claim.at("spec"), &at.child("spec"), errors);
        }
    }
    not_negative(spec, &path, "replicas", errors);
    not_negative(spec, &path, "minReadySeconds", errors);
    let ordinals = path.child("ordinals");
    not_negative(spec.at("ordinals"), &ordinals, "start", errors);
    let service = spec.text("serviceName");
    if old.is_null() && !service.is_empty() {
        label(&path.child("serviceName"), service, errors);
    }
    let at = path.child("selector");
    if spec.has("selector") {
        let wanted = spec.at("selector");
        selector(wanted, &at, errors);
        if is_empty_selector(wanted) {
            let detail = "empty selector is invalid for statefulset";
            let value = shown(SELECTOR, wanted);
            errors.push(FieldError::invalid_shown(&at, &value, detail));
        }
    } else {
        errors.push(FieldError::required(&at, ""));
    }
    let template = path.child("template");
    if Labels::from_object(spec.at("selector")).is_err() {
        let value = shown(SELECTOR, spec.at("selector"));
        errors.push(FieldError::invalid_shown(&at, &value, ""));
    } else {
        if !spec.has("selector") {
            no_match(spec, &template, errors);
        } else if !is_empty_selector(spec.at("selector")) {
            matches_template(spec.at("selector"), spec, &template, errors);
        }
        pod::template(&template_of(spec), &template, errors);
        // Stateful sets look at them on their own, too.
        pod::template_metadata(spec.at("template"), &template, errors);
    }
    always(spec, &template, "StatefulSet", errors);
}

/// The template as its pods will be: with the volumes of their claims, and without the names that each gets of its own.
fn template_of(spec: &Value) -> Value {
    let mut template = spec.at("template").clone();
    let claims = spec.list("volumeClaimTemplates");
    if let Some(pod) = template.existing("spec") {
        pod.drop_field("hostname");
        pod.drop_field("subdomain");
        if !claims.is_empty() {
            let name = |claim: &Value| claim.at("metadata").text("name").to_owned();
            let mut named: Vec<String> = Vec::with_capacity(claims.len());
            for name in claims.iter().map(name) {
                if !named.contains(&name) {
                    named.push(name);
                }
            }
            let mut volumes: Vec<Value> = named
                .iter()
                .map(|name| json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }))
                .collect();
            let kept = pod.list("volumes").iter();
            volumes.extend(
                kept.filter(|volume| !named.iter().any(|name| name == volume.text("name")))
                    .cloned(),
            );
            pod.put("volumes", volumes);
        }
    }
    template
}

pub(crate) fn daemon_set(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let wanted = spec.at("selector");
    let at = path.child("selector");
    selector(wanted, &at, errors);
    let template_path = path.child("template");
    if wanted.is_null() {
        no_match(spec, &template_path, errors);
    } else {
        matches_template(wanted, spec, &template_path, errors);
        if is_empty_selector(wanted) {
            let detail = "empty selector is invalid for daemonset";
            let value = shown(SELECTOR, wanted);
            errors.push(FieldError::invalid_shown(&at, &value, detail));
        }
    }
    pod::template(spec.at("template"), &template_path, errors);
    always(spec, &template_path, "DaemonSet", errors);
    not_negative(spec, &path, "minReadySeconds", errors);
    daemon_strategy(
        spec.at("updateStrategy"),
        &path.child("updateStrategy"),
        errors,
    );
    not_negative(spec, &path, "revisionHistoryLimit", errors);
}

/// The selector says which pods are whose, so it cannot change.
pub(crate) fn selector_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let (new, old) = (new.at("spec"), old.at("spec"));
    immutable_as(SELECTOR, new, old, &path, "selector", errors);
}

pub(crate) fn stateful_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let path = Path::new("spec");
    immutable_as(SELECTOR, spec, before, &path, "selector", errors);
    let field = "volumeClaimTemplates";
    if !same_claims(spec.list(field), before.list(field)) {
        let (value, at) = (
            shown("[]PersistentVolumeClaim", spec.at(field)),
            path.child(field),
        );
        errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
    }
    for field in ["serviceName", "podManagementPolicy"] {
        immutable_as("s", spec, before, &path, field, errors);
    }
}

fn same_claims(new: &[Value], old: &[Value]) -> bool {
    let same = |(new, old)| same_type("api.core.v1.PersistentVolumeClaim", new, old);
    new.len() == old.len() && new.iter().zip(old).all(same)
}

fn replica_selector(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let wanted = spec.at("selector");
    let at = path.child("selector");
    if wanted.is_null() {
        errors.push(FieldError::required(&at, ""));
    } else {
        selector(wanted, &at, errors);
        if is_empty_selector(wanted) {
            // Replica sets say `deployment` as well.
            let detail = "empty selector is invalid for deployment";
            let value = shown(SELECTOR, wanted);
            errors.push(FieldError::invalid_shown(&at, &value, detail));
        }
    }
    if Labels::from_object(wanted).is_err() {
        let value = shown(SELECTOR, wanted);
        let detail = "invalid label selector";
        errors.push(FieldError::invalid_shown(&at, &value, detail));
        return;
    }
    let at = path.child("template");
    if wanted.is_null() {
        no_match(spec, &at, errors);
    } else if !is_empty_selector(wanted) {
        matches_template(wanted, spec, &at, errors);
    }
    pod::template(spec.at("template"), &at, errors);
    // Deployments are told of replica sets.
    always(spec, &at, "ReplicaSet", errors);
}

pub(crate) fn matches_template(wanted: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    // A selector that is wrong in itself was already refused.
    let Ok(Some(wanted)) = Labels::from_object(wanted) else {
        return;
    };
    let labels = spec.at("template").at("metadata").at("labels");
    if !wanted.matches(labels.as_object()) {
        no_match(spec, path, errors);
    }
}

/// What is said of a template that the selector does not match, as no template matches an absent selector.
fn no_match(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let labels = spec.at("template").at("metadata").at("labels");
    let at = path.child("metadata.labels");
    errors.push(FieldError::invalid(&at, labels.clone(), MISMATCH));
}

fn always(spec: &Value, path: &Path<'_>, kind: &str, errors: &mut Errors) {
    let pod = spec.at("template").at("spec");
    let policy = pod.text("restartPolicy");
    if policy != "Always" {
        errors.push(FieldError::not_supported(
            &path.child("spec.restartPolicy"),
            policy,
            &["Always"],
        ));
    }
    if pod.has("activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        let at = path.child("spec.activeDeadlineSeconds");
        errors.push(FieldError::forbidden(&at, &detail));
    }
}

fn deployment_strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("rollingUpdate");
    let rolling = strategy.at("rollingUpdate");
    match strategy.text("type") {
        "Recreate" => {
            if !rolling.is_null() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(FieldError::forbidden(&at, detail));
            }
        }
        "RollingUpdate" if rolling.is_null() => {
            let detail = "this should be defaulted and never be nil";
            errors.push(FieldError::required(&at, detail));
        }
        "RollingUpdate" => {
            let (most, surge) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            let most_path = at.child("maxUnavailable");
            count_or_percent(most, &most_path, errors);
            count_or_percent(surge, &at.child("maxSurge"), errors);
            if is_zero_count(most) && is_zero_count(surge) {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.push(FieldError::invalid(&most_path, most.clone(), detail));
            }
            at_most_hundred_percent(most, &most_path, errors);
        }
        _ => errors.push(FieldError::not_supported_shown(
            path,
            &shown("apps.DeploymentStrategy", strategy),
            &["Recreate", "RollingUpdate"],
        )),
    }
}

fn daemon_strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("rollingUpdate");
    let rolling = strategy.at("rollingUpdate");
    match strategy.text("type") {
        "OnDelete" => {}
        "RollingUpdate" if rolling.is_null() => errors.push(FieldError::required(&at, "")),
        "RollingUpdate" => {
            let (most, surge) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            let (most_path, surge_path) = (at.child("maxUnavailable"), at.child("maxSurge"));
            count_or_percent(most, &most_path, errors);
            count_or_percent(surge, &surge_path, errors);
            at_most_hundred_percent(most, &most_path, errors);
            at_most_hundred_percent(surge, &surge_path, errors);
            match (is_zero_count(most), is_zero_count(surge)) {
                (true, true) => {
                    let detail = "cannot be 0 when maxSurge is 0";
                    errors.push(FieldError::required(&most_path, detail));
                }
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(&surge_path, surge.clone(), detail));
                }
                _ => {}
            }
        }
        _ => errors.push(FieldError::not_supported_shown(
            path,
            &shown("apps.DaemonSetUpdateStrategy", strategy),
            &["RollingUpdate", "OnDelete"],
        )),
    }
}

fn stateful_strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("updateStrategy");
    let rolling = strategy.at("rollingUpdate");
    match strategy.text("type") {
        "" => errors.push(FieldError::required(&at, "")),
        "OnDelete" => {
            if !rolling.is_null() {
                errors.push(FieldError::invalid_shown(
                    &at.child("rollingUpdate"),
                    &shown("apps.RollingUpdateStatefulSetStrategy", rolling),
                    "only allowed for updateStrategy 'RollingUpdate'",
                ));
            }
        }
        "RollingUpdate" => {
            let at = at.child("rollingUpdate");
            not_negative(rolling, &at, "partition", errors);
            if rolling.has("maxUnavailable") {
                let (most, at) = (rolling.at("maxUnavailable"), at.child("maxUnavailable"));
                count_or_percent(most, &at, errors);
                if is_zero_count(most) {
                    errors.push(FieldError::invalid(&at, most.clone(), "cannot be 0"));
                }
                at_most_hundred_percent(most, &at, errors);
            }
        }
        _ => errors.push(FieldError::invalid_shown(
            &at,
            &shown("apps.StatefulSetUpdateStrategy", strategy),
            "must be 'RollingUpdate' or 'OnDelete'",
        )),
    }
}
