//! How often the rules of a policy were true, false or failed: a rule that was never false was not tested.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::Answer;
use crate::expression::Source;

/// Counts what the rules of a policy come to.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_policy::{Policy, Request};
/// use serde_json::json;
///
/// let mut policy = Policy::<ConfigMap>::validating("sizes").rule("object.data.size() < 2", "have one key");
/// let tally = policy.tally();
/// policy.decide(&Request::create::<ConfigMap>(json!({"data": {"a": ""}})));
/// policy.decide(&Request::create::<ConfigMap>(json!({"data": {"a": "", "b": ""}})));
/// policy.decide(&Request::create::<ConfigMap>(json!({})));
/// let rule = &tally.rules()[0];
/// assert_eq!((rule.held, rule.refused, rule.failed), (1, 1, 1));
/// ```
#[derive(Debug)]
pub struct Tally {
    rules: Vec<Counted>,
    evaluated: AtomicU64,
    skipped: AtomicU64,
    changed: AtomicU64,
}

#[derive(Debug)]
struct Counted {
    source: Source,
    refused: AtomicU64,
    failed: AtomicU64,
}

/// What one rule came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleTally {
    /// The expression.
    pub expression: String,
    /// The call that it was given in.
    pub at: &'static Location<'static>,
    /// How often it was true.
    pub held: u64,
    /// How often it was false.
    pub refused: u64,
    /// How often it could not be evaluated.
    pub failed: u64,
}

impl Tally {
    pub(crate) fn of(expressions: Vec<&Source>) -> Arc<Self> {
        let rule = |source: &Source| Counted {
            source: source.clone(),
            refused: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        };
        Arc::new(Self {
            rules: expressions.into_iter().map(rule).collect(),
            evaluated: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            changed: AtomicU64::new(0),
        })
    }

    pub(crate) fn add(&self, answer: &Answer) {
        if answer.skipped {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.evaluated.fetch_add(1, Ordering::Relaxed);
        if answer.object.is_some() {
            self.changed.fetch_add(1, Ordering::Relaxed);
        }
        for refused in &answer.refused {
            let Some(rule) = self.rules.get(refused.rule) else {
                continue;
            };
            let count = if refused.failed {
                &rule.failed
            } else {
                &rule.refused
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how often the conditions held.
    pub fn evaluated(&self) -> u64 {
        self.evaluated.load(Ordering::Relaxed)
    }

    /// Returns how often the conditions did not hold.
    pub fn skipped(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    /// Returns how often the object was changed.
    pub fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// Returns what each rule came to, in their order.
    pub fn rules(&self) -> Vec<RuleTally> {
        let rules = self.rules.iter();
        rules
            .map(|rule| {
                let refused = rule.refused.load(Ordering::Relaxed);
                let failed = rule.failed.load(Ordering::Relaxed);
                RuleTally {
                    expression: rule.source.text.clone(),
                    at: rule.source.at,
                    held: self.evaluated().saturating_sub(refused + failed),
                    refused,
                    failed,
                }
            })
            .collect()
    }
}
