//! Whether the rules of a definition compile, and what they can cost.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::super::rule::Expression;
use super::super::schema::{Additional, Schema};
use super::shown;

/// The most that one expression may cost.
const LARGEST: u64 = 10_000_000;
/// The most that all expressions of a schema may cost together.
const LARGEST_TOTAL: u64 = 100_000_000;
/// How many of the most expensive expressions are told of.
const TOLD: usize = 4;

/// The checks of the rules of one schema.
pub(super) struct Checks<'r> {
    root: &'r Schema,
    total: u64,
    /// The most expensive ones.
    expensive: Vec<(String, u64)>,
}

/// A node of the schema, and how often it can be in an object; none where nothing bounds that.
#[derive(Clone, Copy)]
pub(super) struct Node<'r> {
    schema: &'r Schema,
    often: Option<u64>,
    /// Whether there are rules here or around it: only then its type is made out.
    ruled: bool,
    /// Whether that fails here or around it, because expressions do not see such values.
    unseen: bool,
    /// Whether these are the items or values of what has none: their type is taken from the one around them.
    stray: bool,
}

impl<'r> Checks<'r> {
    pub(super) fn new(root: &'r Schema) -> Self {
        Self {
            root,
            total: 0,
            expensive: Vec::new(),
        }
    }

    pub(super) fn root(&self) -> Node<'r> {
        Node {
            schema: self.root,
            often: Some(1),
            ruled: !self.root.rules.all.is_empty(),
            unseen: false,
            stray: false,
        }
    }

    /// Checks the rules of a node. `uncorrelatable` is the schema around it whose parts have no old values.
    pub(super) fn check(
        &mut self,
        node: Node<'_>,
        said: &[Value],
        at: &Path<'_>,
        uncorrelatable: Option<&Path<'_>>,
        errors: &mut Vec<FieldError>,
    ) {
        let rules = &node.schema.rules;
        if node.stray && !rules.all.is_empty() {
            let detail = "failed to convert to declType for CEL validation rules";
            errors.push(FieldError::internal(at, detail));
            return;
        }
        let Some(declared) = rules.seen().filter(|_| !node.unseen) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            errors.push(FieldError::internal(at, detail));
            return;
        };
        let often = node.often.unwrap_or_else(|| declared.max_cardinality());
        for (index, (rule, said)) in rules.all.iter().zip(said).enumerate() {
            let at = at.index(index);
            let path = at.child("rule");
            let compiled = &rule.compiled;
            let cost = compiled.rule.most().saturating_mul(often);
            if cost > LARGEST {
                let detail = too_expensive("estimated rule cost", cost, LARGEST);
                errors.push(FieldError::forbidden(&path, &detail));
            }
            self.observe(&path, cost);
            if let Expression::Broken(reason) = &compiled.rule {
                errors.push(FieldError::invalid_shown(&path, &shown::rule(said), reason));
            }
            let message = at.child("messageExpression");
            match &compiled.message {
                Expression::None => {}
                Expression::Broken(reason) => {
                    errors.push(FieldError::invalid_shown(
                        &message,
                        &shown::rule(said),
                        reason,
                    ));
                }
                Expression::Ready(_, cost) => {
                    if *cost > LARGEST {
                        let detail =
                            too_expensive("estimated messageExpression cost", *cost, LARGEST);
                        errors.push(FieldError::forbidden(&message, &detail));
                    }
                    self.observe(&message, *cost);
                }
            }
            if compiled.rule.uses_old() {
                if let Some(around) = uncorrelatable {
                    let detail = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {around}"
                    );
                    errors.push(FieldError::invalid(&path, said.text("rule"), &detail));
                }
            } else if said.has("optionalOldSelf") {
                let value = said.at("optionalOldSelf").clone();
                let detail = "may not be set if oldSelf is not used in rule";
                errors.push(FieldError::invalid(
                    &at.child("optionalOldSelf"),
                    value,
                    detail,
                ));
            }
        }
    }

    fn observe(&mut self, path: &Path<'_>, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < LARGEST_TOTAL / 100 {
            return;
        }
        self.expensive.push((path.to_string(), cost));
        self.expensive
            .sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.expensive.truncate(TOLD);
    }

    /// What all rules together cost.
    pub(super) fn total(self, at: &Path<'_>, errors: &mut Vec<FieldError>) {
        if self.total <= LARGEST_TOTAL {
            return;
        }
        for (path, _) in &self.expensive {
            let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.push(FieldError::forbidden(&Path::new(path), detail));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let detail = too_expensive(what, self.total, LARGEST_TOTAL);
        errors.push(FieldError::forbidden(at, &detail));
    }
}

impl<'r> Node<'r> {
    pub(super) fn property(self, name: &str) -> Option<Self> {
        let property = self.below(self.schema.properties.get(name)?);
        // The type of the object around it has no field for what is not seen.
        let unseen = property.ruled && !property.schema.rules.is_seen;
        Some(Self {
            unseen: self.unseen || unseen,
            ..property
        })
    }

    pub(super) fn items(self) -> Option<Self> {
        let items = self.below(self.schema.items.as_deref()?);
        Some(Self {
            stray: self.has_no_elements(),
            ..items
        })
    }

    pub(super) fn additional(self) -> Option<Self> {
        let values = self.below(self.schema.additional.schema()?);
        Some(Self {
            stray: self.has_no_elements(),
            ..values
        })
    }

    /// Whether the type is made out, and is not that of a list or a map.
    fn has_no_elements(self) -> bool {
        let Schema {
            kind,
            items,
            additional,
            int_or_string,
            ..
        } = self.schema;
        let has_elements = !int_or_string
            && match kind.as_str() {
                "array" => items.is_some(),
                "object" => additional.schema().is_some(),
                _ => false,
            };
        self.ruled && !self.unseen && self.schema.rules.is_seen && !has_elements
    }

    fn below(self, schema: &'r Schema) -> Self {
        let limits = &self.schema.limits;
        let times = match (self.schema.kind.as_str(), &self.schema.additional) {
            ("array", _) => limits.max_items,
            ("object", Additional::Schema(_) | Additional::Allowed(_)) => limits.max_properties,
            _ => Some(1),
        };
        let times = times.map(|times| u64::try_from(times).unwrap_or(0));
        Self {
            schema,
            ruled: self.ruled || !schema.rules.all.is_empty(),
            unseen: self.unseen,
            stray: false,
            often: self
                .often
                .zip(times)
                .map(|(often, times)| often.saturating_mul(times)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "as the real server divides")]
fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}
