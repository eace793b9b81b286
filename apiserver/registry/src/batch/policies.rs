//! Jobs by index, and their policies for failure and success.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::batch::indexes;
use kubewright_validation::check::{Errors, not_negative, qualified_name};
use kubewright_validation::internal::shown;

/// From here on many completions need limits.
const MANY: i64 = 100_000;

/// The numbers of a job whose pods have an index each.
pub(crate) fn indexed(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let [completions, parallelism, failed] =
        ["completions", "parallelism", "maxFailedIndexes"].map(|field| spec.int(field));
    let at_most = |field: &str, number: Option<i64>, most: i64, when: &str| {
        let number = number.filter(|number| *number > most)?;
        let detail = format!("must be less than or equal to {most}{when}");
        Some(FieldError::invalid(&path.child(field), number, &detail))
    };
    if completions.is_none() {
        let at = path.child("completions");
        let detail = "when completion mode is Indexed";
        errors.push(FieldError::required(&at, detail));
    }
    let when = " when completion mode is Indexed";
    errors.extend(at_most("parallelism", parallelism, 100_000, when));
    if let (Some(all), Some(failed)) = (completions, failed)
        && failed > all
    {
        let at = path.child("maxFailedIndexes");
        let detail = "must be less than or equal to completions";
        errors.push(FieldError::invalid(&at, failed, detail));
    }
    errors.extend(at_most("maxFailedIndexes", failed, 100_000, ""));
    if completions.is_some_and(|all| all > MANY) && spec.has("backoffLimitPerIndex") {
        if failed.is_none() {
            let at = path.child("maxFailedIndexes");
            let detail = format!("must be specified when completions is above {MANY}");
            errors.push(FieldError::required(&at, &detail));
        }
        let when =
            format!(" when completions are above {MANY} and used with backoff limit per index");
        errors.extend(at_most("parallelism", parallelism, 10_000, &when));
        errors.extend(at_most("maxFailedIndexes", failed, 10_000, &when));
    }
}

/// What the failure of a pod means for the job.
pub(crate) fn failure(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let policy = spec.at("podFailurePolicy");
    let path = path.child("podFailurePolicy.rules");
    let rules = policy.list("rules");
    if rules.len() > 20 {
        errors.push(FieldError::too_many(&path, rules.len(), 20));
    }
    for (index, rule) in rules.iter().enumerate() {
        failure_rule(spec, rule, &path.index(index), errors);
    }
}

fn failure_rule(spec: &Value, rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
    if rule.text("action") == "FailIndex" && !spec.has("backoffLimitPerIndex") {
        let at = path.child("action");
        let detail = "requires the backoffLimitPerIndex to be set";
        errors.push(FieldError::invalid(&at, "FailIndex", detail));
    }
    word(rule, "action", &actions, path, errors);
    let codes = rule.at("onExitCodes");
    if !codes.is_null() {
        exit_codes(spec, codes, &path.child("onExitCodes"), errors);
    }
    let conditions = rule.list("onPodConditions");
    let at = path.child("onPodConditions");
    if conditions.len() > 20 {
        errors.push(FieldError::too_many(&at, conditions.len(), 20));
    }
    for (index, pattern) in conditions.iter().enumerate() {
        let at = at.index(index);
        qualified_name(&at.child("type"), pattern.text("type"), errors);
        word(
            pattern,
            "status",
            &["False", "True", "Unknown"],
            &at,
            errors,
        );
    }
    let detail = match (codes.is_null(), conditions.is_empty()) {
        (false, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (true, true) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push(FieldError::invalid_omitted(path, detail));
}

fn exit_codes(spec: &Value, codes: &Value, path: &Path<'_>, errors: &mut Errors) {
    word(codes, "operator", &["In", "NotIn"], path, errors);
    let template = spec.at("template").at("spec");
    let name = codes.text("containerName");
    let known = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| template.list(list))
        .any(|container| container.text("name") == name);
    if codes.has("containerName") && !known {
        let at = path.child("containerName");
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(&at, name, detail));
    }
    let values = codes.list("values");
    let at = path.child("values");
    if values.is_empty() {
        let detail = "at least one value is required";
        let value = codes.at("values").clone();
        errors.push(FieldError::invalid(&at, value, detail));
    } else if values.len() > 255 {
        errors.push(FieldError::too_many(&at, values.len(), 255));
    }
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    for (index, value) in values.iter().enumerate() {
        if codes.text("operator") == "In" && number(value) == 0 {
            let detail = "must not be 0 for the In operator";
            errors.push(FieldError::invalid(&at.index(index), 0, detail));
        }
        if values[..index].contains(value) {
            errors.push(FieldError::duplicate(&at.index(index), value.clone()));
        }
    }
    if !values.is_sorted_by_key(number) {
        let value = codes.at("values").clone();
        errors.push(FieldError::invalid(&at, value, "must be ordered"));
    }
}

/// One of the words, with all of them named where there is none.
fn word(holder: &Value, field: &str, words: &[&str], path: &Path<'_>, errors: &mut Errors) {
    let (value, at) = (holder.text(field), path.child(field));
    if value.is_empty() {
        let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("valid values: [{}]", quoted.join(" "));
        errors.push(FieldError::required(&at, &detail));
    } else if !words.contains(&value) {
        errors.push(FieldError::not_supported(&at, value, words));
    }
}

/// When a job by index has succeeded before all of it has.
pub(crate) fn success(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let policy = spec.at("successPolicy");
    if policy.is_null() {
        return;
    }
    let path = path.child("successPolicy");
    if spec.text("completionMode") != "Indexed" {
        let value = shown("batch.SuccessPolicy", policy);
        let detail = "requires indexed completion mode";
        errors.push(FieldError::invalid_shown(&path, &value, detail));
        return;
    }
    let path = path.child("rules");
    let rules = policy.list("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(&path, detail));
    }
    if rules.len() > 20 {
        errors.push(FieldError::too_many(&path, rules.len(), 20));
    }
    let completions = spec.int("completions").unwrap_or(0);
    for (index, rule) in rules.iter().enumerate() {
        success_rule(rule, completions, &path.index(index), errors);
    }
}

fn success_rule(rule: &Value, completions: i64, path: &Path<'_>, errors: &mut Errors) {
    let (indexes, count) = (rule.at("succeededIndexes"), rule.int("succeededCount"));
    if indexes.is_null() && count.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(FieldError::required(path, detail));
    }
    let mut listed = None;
    if let Some(text) = indexes.as_str() {
        let at = path.child("succeededIndexes");
        if text.len() > 64 * 1024 {
            errors.push(FieldError::too_long(&at, 64 * 1024));
        }
        listed = Some(indexes::count(text, completions).unwrap_or_else(|problem| {
            let detail = format!("error parsing succeededIndexes: {problem}");
            errors.push(FieldError::invalid(&at, text, &detail));
            0
        }));
    }
    let Some(count) = count else {
        return;
    };
    not_negative(rule, path, "succeededCount", errors);
    let at = path.child("succeededCount");
    for (most, of) in [
        (Some(completions), "specified completions"),
        (listed, "indexes in the specified succeededIndexes field"),
    ] {
        if let Some(most) = most.filter(|most| count > *most) {
            let detail = format!("must be less than or equal to {most} (the number of {of})");
            errors.push(FieldError::invalid(&at, count, &detail));
        }
    }
}
