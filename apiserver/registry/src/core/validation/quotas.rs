//! Resource quotas and limit ranges.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::{Quantity, Spelled};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, is_native, problems, quantity};
use kubewright_validation::internal::shown;
use kubewright_validation::pod::{is_overcommitted, resource_name};

pub(crate) fn quota(object: &Value, errors: &mut Errors) {
    hard(object.at("spec"), &Path::new("spec"), "hard", errors);
    scopes(object.at("spec"), errors);
    scope_selector(object.at("spec"), errors);
    quota_status(object.at("status"), &Path::new("status"), errors);
}

/// The lists of a quota's status.
pub(crate) fn quota_status(status: &Value, path: &Path<'_>, errors: &mut Errors) {
    for list in ["hard", "used"] {
        hard(status, path, list, errors);
    }
}

pub(crate) fn quota_update(new: &Value, old: &Value, errors: &mut Errors) {
    let set = |object: &Value| -> BTreeSet<String> {
        let scopes = object.at("spec").list("scopes").iter();
        scopes
            .filter_map(|scope| scope.as_str().map(str::to_owned))
            .collect()
    };
    if set(new) != set(old) {
        let value = new.at("spec").at("scopes").clone();
        let at = Path::new("spec.scopes");
        errors.push(FieldError::invalid(
            &at,
            value,
            kubewright_validation::check::IMMUTABLE,
        ));
    }
}

/// What may be requested, but not used.
pub(crate) fn warnings(hard: &Value) -> Vec<String> {
    let mut out = Vec::new();
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let mut request = format!("requests.{resource}");
        if !hard.has(&request) && matches!(resource, "cpu" | "memory") {
            resource.clone_into(&mut request);
        }
        let limit = format!("limits.{resource}");
        let amount = |name: &str| Spelled::from_value(hard.at(name));
        if let (Some(requested), Some(most)) = (amount(&request), amount(&limit))
            && *requested > *most
        {
            out.push(format!(
                "ResourceQuota {request} ({requested}) should be less than {limit} ({most})"
            ));
        }
    }
    out
}

fn hard(holder: &Value, path: &Path<'_>, list: &str, errors: &mut Errors) {
    let path = path.child(list);
    for (name, value) in holder.entries(list) {
        let at = path.key(name);
        resource_name(name, &at, errors);
        if !name.contains('/') && !is_of_quotas(name) {
            let detail = "must be a standard resource for quota";
            errors.push(FieldError::invalid(&at, name, detail));
        }
        quantity(name, value, &at, errors);
    }
}

fn is_of_quotas(name: &str) -> bool {
    let computed = ["cpu", "memory", "ephemeral-storage"];
    let of = name
        .strip_prefix("requests.")
        .or_else(|| name.strip_prefix("limits."))
        .unwrap_or(name);
    computed.contains(&of)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
        || matches!(
            name,
            "requests.storage"
                | "pods"
                | "resourcequotas"
                | "services"
                | "replicationcontrollers"
                | "secrets"
                | "configmaps"
                | "persistentvolumeclaims"
                | "services.nodeports"
                | "services.loadbalancers"
        )
}

/// Larger amounts are not looked at by thousandths.
const MOST_IN_MILLIS: i64 = i64::MAX / 1000;

const PODS: [&str; 5] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "CrossNamespacePodAffinity",
];

fn is_scope(scope: &str) -> bool {
    PODS.contains(&scope) || matches!(scope, "PriorityClass" | "VolumeAttributesClass")
}

/// Whether a scope says something about a resource: that of pods about pods and what they get.
fn is_scope_of(scope: &str, resource: &str) -> bool {
    let of_pods = matches!(resource, "pods" | "cpu" | "memory" | "ephemeral-storage")
        || matches!(
            resource.split_once('.'),
            Some((
                "requests" | "limits",
                "cpu" | "memory" | "ephemeral-storage"
            ))
        );
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        scope if is_scope(scope) => of_pods,
        _ => true,
    }
}

fn misapplied(spec: &Value, scope: &str) -> usize {
    spec.entries("hard")
        .filter(|(name, _)| is_of_quotas(name) && !is_scope_of(scope, name))
        .count()
}

fn scope_selector(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec.scopeSelector.matchExpressions");
    let all = spec.at("scopeSelector").list("matchExpressions");
    for requirement in all {
        let (scope, operator) = (requirement.text("scopeName"), requirement.text("operator"));
        if !is_scope(scope) {
            let at = path.child("scopeName");
            errors.push(FieldError::invalid(&at, scope, "unsupported scope"));
        }
        for _ in 0..misapplied(spec, scope) {
            let value = shown("ScopeSelector", spec.at("scopeSelector"));
            let detail = "unsupported scope applied to resource";
            errors.push(FieldError::invalid_shown(&path, &value, detail));
        }
        let (at, values) = (path.child("operator"), requirement.list("values"));
        if PODS.contains(&scope) && operator != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(FieldError::invalid(&at, operator, detail));
        }
        let values_path = path.child("values");
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &values_path,
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::invalid(
                &values_path,
                requirement.at("values").clone(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let detail = "not a valid selector operator";
                errors.push(FieldError::invalid(&at, operator, detail));
            }
        }
    }
    let names: Vec<&str> = all.iter().map(|one| one.text("scopeName")).collect();
    conflicts(&names, spec, &path, errors);
}

fn conflicts(scopes: &[&str], spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for pair in [
        ["BestEffort", "NotBestEffort"],
        ["Terminating", "NotTerminating"],
    ] {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            let value = spec.at("scopes").clone();
            errors.push(FieldError::invalid(path, value, "conflicting scopes"));
        }
    }
}

fn scopes(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec.scopes");
    let scopes = spec.list("scopes");
    let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
    for scope in &scopes {
        let value = || spec.at("scopes").clone();
        if !is_scope(scope) {
            errors.push(FieldError::invalid(&path, value(), "unsupported scope"));
        }
        for _ in 0..misapplied(spec, scope) {
            let detail = "unsupported scope applied to resource";
            errors.push(FieldError::invalid(&path, value(), detail));
        }
    }
    conflicts(&scopes, spec, &path, errors);
}

pub(crate) fn limit_range(object: &Value, errors: &mut Errors) {
    let limits = object.at("spec").list("limits");
    let path = Path::new("spec.limits");
    for (index, limit) in limits.iter().enumerate() {
        let at = path.index(index);
        let kind = limit.text("type");
        limit_type(kind, &at.child("type"), errors);
        if limits[..index]
            .iter()
            .any(|other| other.text("type") == kind)
        {
            errors.push(FieldError::duplicate(&at.child("type"), kind));
        }
        let mut keys = BTreeSet::new();
        for list in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            let listed = limit.map(list).is_some_and(|map| !map.is_empty());
            if kind == "Pod" && matches!(list, "default" | "defaultRequest") {
                if listed {
                    let detail = "may not be specified when `type` is 'Pod'";
                    errors.push(FieldError::forbidden(&at.child(list), detail));
                }
                continue;
            }
            if list == "maxLimitRequestRatio" && kind == "PersistentVolumeClaim" {
                storage(limit, &at, errors);
            }
            let path = at.child(list);
            for (name, _) in limit.entries(list) {
                limited_resource(kind, name, &path.key(name), errors);
                keys.insert(name);
            }
        }
        for name in keys {
            bounds(limit, name, &at, errors);
        }
    }
}

/// A claim is limited by its storage.
fn storage(limit: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !limit.at("min").has("storage") && !limit.at("max").has("storage") {
        let detail =
            "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(&path.child("limits"), detail));
    }
}

fn limit_type(kind: &str, path: &Path<'_>, errors: &mut Errors) {
    let found = names::qualified_name(kind);
    let known = matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
    if found.is_empty() && !kind.contains('/') && !known {
        let detail = "must be a standard limit type or fully qualified";
        errors.push(FieldError::invalid(path, kind, detail));
    }
    problems(path, kind, found, errors);
}

fn limited_resource(kind: &str, name: &str, path: &Path<'_>, errors: &mut Errors) {
    resource_name(name, path, errors);
    let of_container =
        matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if matches!(kind, "Pod" | "Container")
        && is_native(name)
        && !of_container
        && !name.contains('/')
    {
        let detail = "must be a standard resource for containers";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

/// The lists must not contradict each other.
fn bounds(limit: &Value, name: &str, path: &Path<'_>, errors: &mut Errors) {
    let of = |list: &str| Spelled::from_value(limit.at(list).at(name));
    let (min, max) = (of("min"), of("max"));
    // Pods cannot have defaults, and are refused for having them at all.
    let of_containers = |list| of(list).filter(|_| limit.text("type") != "Pod");
    let (default, request) = (of_containers("default"), of_containers("defaultRequest"));
    let mut above = |low: Option<Spelled<'_>>,
                     high: Option<Spelled<'_>>,
                     at: &str,
                     shown: Option<Spelled<'_>>,
                     words: (&str, &str)| {
        if let (Some(low), Some(high), Some(shown)) = (low, high, shown)
            && low > high
        {
            let detail = format!(
                "{} value {low} is greater than {} value {high}",
                words.0, words.1
            );
            let list = path.child(at);
            errors.push(FieldError::invalid(
                &list.key(name),
                shown.to_string(),
                &detail,
            ));
        }
    };
    above(min, max, "min", min, ("min", "max"));
    above(
        min,
        request,
        "defaultRequest",
        request,
        ("min", "default request"),
    );
    above(
        request,
        max,
        "defaultRequest",
        request,
        ("default request", "max"),
    );
    above(
        request,
        default,
        "defaultRequest",
        request,
        ("default request", "default limit"),
    );
    above(min, default, "default", min, ("min", "default"));
    above(default, max, "default", max, ("default", "max"));
    let ratio = of("maxLimitRequestRatio");
    let one = Quantity::parse("1");
    if let Some(ratio) = ratio.filter(|ratio| Some(**ratio) < one) {
        let list = path.child("maxLimitRequestRatio");
        let detail = format!("ratio {ratio} is less than 1");
        errors.push(FieldError::invalid(
            &list.key(name),
            ratio.to_string(),
            &detail,
        ));
    }
    if let (Some(ratio), Some(min), Some(max)) = (ratio, min, max) {
        let units = [max, min, ratio].map(|quantity| quantity.wrapped());
        let are_small = units.iter().all(|units| *units < MOST_IN_MILLIS);
        #[expect(
            clippy::cast_precision_loss,
            reason = "the API server divides floats, too"
        )]
        let [max, min, wanted] = if are_small {
            let [max, min, ratio] = [max, min, ratio].map(|quantity| quantity.wrapped_millis());
            [max as f64, min as f64, ratio as f64 / 1000.0]
        } else {
            units.map(|units| units as f64)
        };
        let most = max / min;
        if wanted > most {
            let list = path.child("maxLimitRequestRatio");
            let detail = format!("ratio {ratio} is greater than max/min = {most:.6}");
            let shown = ratio.to_string();
            errors.push(FieldError::invalid(&list.key(name), shown, &detail));
        }
    }
    if let (Some(default), Some(request)) = (default, request)
        && default != request
        && !is_overcommitted(name)
    {
        let list = path.child("defaultRequest");
        let detail = format!(
            "default value {default} must equal to defaultRequest value {request} in {name}"
        );
        errors.push(FieldError::invalid(
            &list.key(name),
            request.to_string(),
            &detail,
        ));
    }
}
