//! Priority levels.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use super::conditions;
use super::defaults::number;
use super::mandatory;
use crate::columns::Row;
use crate::columns::text::count;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::Errors;
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = [
    "flowcontrol.apiserver.k8s.io",
    "v1",
    "PriorityLevelConfiguration",
];
const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of priority levels.
#[derive(Debug)]
pub(crate) struct PriorityLevelConfiguration;

impl Strategy for PriorityLevelConfiguration {
    fn default(&self, object: &mut Value) {
        default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        if subresource == "status" {
            conditions::check(new, &mut found.errors);
        } else {
            self.validate(new, found);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn may_not_fit(&self) -> bool {
        true
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn default(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        if let Some(exempt) = spec.existing("exempt") {
            exempt.fill("nominalConcurrencyShares", 0);
            exempt.fill("lendablePercent", 0);
        }
        if let Some(limited) = spec.existing("limited") {
            limited.fill("nominalConcurrencyShares", 30);
            limited.fill("lendablePercent", 0);
            if let Some(queuing) = limited
                .part("limitResponse")
                .and_then(|response| response.existing("queuing"))
            {
                number(queuing, "handSize", 8);
                number(queuing, "queues", 64);
                number(queuing, "queueLengthLimit", 50);
            }
        }
    }
}

const MOST_QUEUES: i64 = 10_000_000;

/// Bits of the hash that deals a flow its queues.
const HASH_BITS: u32 = 60;

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let kind = spec.text("type");
    let at = path.child("type");
    let exempt = object.at("metadata").text("name") == "exempt";
    if exempt != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(FieldError::invalid(&at, kind, detail));
    }
    match kind {
        "Exempt" => {
            let detail = "must be nil if the type is not Limited";
            forbidden(spec, &path, "limited", detail, errors);
            let at = path.child("exempt");
            shares(spec.at("exempt"), &at, errors);
            lendable(spec.at("exempt"), &at, errors);
        }
        "Limited" => {
            let detail = "must be nil if the type is Limited";
            forbidden(spec, &path, "exempt", detail, errors);
            let detail = "must not be empty when type is Limited";
            if required(spec, &path, "limited", detail, errors) {
                limited(spec.at("limited"), &path.child("limited"), errors);
            }
        }
        "" => errors.push(FieldError::required(&at, "").covered()),
        other => errors.push(FieldError::not_supported(
            &at,
            other,
            &["Exempt", "Limited"],
        )),
    }
    mandatory::priority_level(KIND, object, errors);
    conditions::check(object, errors);
    declared(spec, &path, errors);
}

/// What declarative validation checks: each part goes with one type.
fn declared(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    goes_with("Exempt", spec, path, "exempt", errors);
    goes_with("Limited", spec, path, "limited", errors);
    typed(spec, path, errors);
    if spec.has("limited") {
        let (response, path) = (
            spec.at("limited").at("limitResponse"),
            path.child("limited"),
        );
        let path = path.child("limitResponse");
        goes_with("Queue", response, &path, "queuing", errors);
        typed(response, &path, errors);
    }
}

fn typed(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    if holder.text("type").is_empty() {
        errors.push(FieldError::required(&path.child("type"), "").declarative_for(None));
    }
}

/// What handwritten validation says of a part that goes with another type.
fn forbidden(holder: &Value, path: &Path<'_>, field: &str, detail: &str, errors: &mut Errors) {
    if holder.has(field) {
        errors.push(FieldError::forbidden(&path.child(field), detail).covered());
    }
}

/// What handwritten validation says of the part that goes with the type; says whether it is there.
fn required(
    holder: &Value,
    path: &Path<'_>,
    field: &str,
    detail: &str,
    errors: &mut Errors,
) -> bool {
    if !holder.has(field) {
        errors.push(FieldError::required(&path.child(field), detail).covered());
    }
    holder.has(field)
}

fn goes_with(kind: &str, holder: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    let (at, is_kind) = (path.child(field), holder.text("type") == kind);
    if holder.has(field) && !is_kind {
        errors.push(FieldError::forbidden(&at, "").declarative_for(None));
    } else if !holder.has(field) && is_kind && kind != "Exempt" {
        errors.push(FieldError::required(&at, "").declarative_for(None));
    }
}

fn shares(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = "nominalConcurrencyShares";
    if let Some(number) = level.int(field).filter(|number| *number < 0) {
        let detail = "must be a non-negative integer";
        errors.push(FieldError::invalid(&path.child(field), number, detail));
    }
}

fn lendable(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = "lendablePercent";
    let number = level
        .int(field)
        .filter(|number| !(0..=100).contains(number));
    if let Some(number) = number {
        let detail = "must be between 0 and 100, inclusive";
        errors.push(FieldError::invalid(&path.child(field), number, detail));
    }
}

fn limited(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    shares(level, path, errors);
    let response = level.at("limitResponse");
    let at = path.child("limitResponse");
    let queuing = response.at("queuing");
    match response.text("type") {
        "Reject" => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            forbidden(response, &at, "queuing", detail, errors);
        }
        "Queue" => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            if required(response, &at, "queuing", detail, errors) {
                queues(queuing, &at.child("queuing"), errors);
            }
        }
        "" => errors.push(FieldError::required(&at.child("type"), "").covered()),
        other => {
            let at = at.child("type");
            errors.push(FieldError::not_supported(&at, other, &["Queue", "Reject"]));
        }
    }
    lendable(level, path, errors);
    let field = "borrowingLimitPercent";
    if let Some(number) = level.int(field).filter(|number| *number < 0) {
        let detail = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid(&path.child(field), number, detail));
    }
}

fn queues(queuing: &Value, path: &Path<'_>, errors: &mut Errors) {
    let number = |field: &str| queuing.int(field).unwrap_or(0);
    let (queues, hand) = (number("queues"), number("handSize"));
    let most = format!("must not be greater than {MOST_QUEUES}");
    let deck = format!("should not be greater than queues ({queues})");
    let bits = entropy(queues, hand);
    let entropy = format!(
        "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
    );
    for (field, checks) in [
        (
            "queueLengthLimit",
            &[(number("queueLengthLimit") <= 0, "must be positive")][..],
        ),
        (
            "queues",
            &[
                (queues <= 0, "must be positive"),
                (queues > MOST_QUEUES, most.as_str()),
            ],
        ),
        (
            "handSize",
            &[
                (hand <= 0, "must be positive"),
                (hand > queues, deck.as_str()),
                (bits > HASH_BITS, entropy.as_str()),
            ],
        ),
    ] {
        if let Some((_, detail)) = checks.iter().find(|(wrong, _)| *wrong) {
            errors.push(FieldError::invalid(
                &path.child(field),
                number(field),
                detail,
            ));
        }
    }
}

/// How many bits of a hash it takes to deal a hand from a deck.
fn entropy(deck: i64, hand: i64) -> u32 {
    if hand <= 0 || hand > deck {
        return 0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of 32 bits fits a float, and what does not fit 32 bits again is too much anyway"
    )]
    let bits = ((deck as f64).log2() * hand as f64).ceil() as u32;
    bits
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let limited = row.spec().at("limited");
    let queuing = limited.at("limitResponse").at("queuing");
    let number = |holder: &Value, field: &str| -> Value {
        if holder.is_null() {
            "<none>".into()
        } else {
            count(holder, field).into()
        }
    };
    vec![
        row.name(),
        row.spec().text("type").into(),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        row.age(),
    ]
}
