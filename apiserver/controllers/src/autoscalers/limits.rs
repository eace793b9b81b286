//! How far and how fast an autoscaler may go: its range, its scaling policies and its stabilization windows.

use kubewright_apimachinery::quantity::Quantity;
use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::tolerances::Tolerances;
use crate::object::{list, number, text};

/// The smallest and the largest number of replicas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: i32,
    pub(super) most: i32,
}

/// A number of replicas, with the reason and the message of a condition.
pub(super) type Limited = (i32, &'static str, &'static str);

/// The rules of `spec.behavior`.
#[derive(Clone, Debug)]
pub(super) struct Behavior {
    pub(super) up: Rules,
    pub(super) down: Rules,
}

/// The rules of one direction.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    window: Duration,
    select: Select,
    policies: Vec<Policy>,
    tolerance: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Select {
    Max,
    Min,
    Disabled,
}

#[derive(Clone, Copy, Debug)]
struct Policy {
    of: Unit,
    value: i32,
    period: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Pods,
    Percent,
}

/// What the controller remembers of one autoscaler. It forgets it with the autoscaler, and when it ends.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The recommendations before stabilization.
    recommendations: Vec<(Instant, i32)>,
    /// How many replicas were added, and when.
    added: Vec<(Instant, i32)>,
    removed: Vec<(Instant, i32)>,
}

/// The window of scaling down where an autoscaler has none (`--horizontal-pod-autoscaler-downscale-stabilization`).
const DOWN_WINDOW: Duration = Duration::from_mins(5);

const IN_RANGE: (&str, &str) = (
    "DesiredWithinRange",
    "the desired count is within the acceptable range",
);
const TOO_FEW: (&str, &str) = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
);
const TOO_MANY: (&str, &str) = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
);
const TOO_FAST_UP: (&str, &str) = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
const TOO_FAST_DOWN: (&str, &str) = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);

impl Behavior {
    pub(super) fn of(spec: &Value) -> Option<Self> {
        let behavior = spec.get("behavior").filter(|rules| rules.is_object())?;
        Some(Self {
            up: Rules::of(&behavior["scaleUp"], Duration::ZERO),
            down: Rules::of(&behavior["scaleDown"], DOWN_WINDOW),
        })
    }
}

impl Rules {
    fn of(rules: &Value, window: Duration) -> Self {
        let seconds = |value: &Value, pointer: &str| {
            Duration::from_secs(u64::try_from(number(value, pointer)).unwrap_or_default())
        };
        let policy = |policy: &Value| Policy {
            of: match text(policy, "/type") {
                "Percent" => Unit::Percent,
                _ => Unit::Pods,
            },
            value: i32::try_from(number(policy, "/value")).unwrap_or(i32::MAX),
            period: seconds(policy, "/periodSeconds"),
        };
        Self {
            window: if rules["stabilizationWindowSeconds"].is_number() {
                seconds(rules, "/stabilizationWindowSeconds")
            } else {
                window
            },
            select: match text(rules, "/selectPolicy") {
                "Disabled" => Select::Disabled,
                "Min" => Select::Min,
                _ => Select::Max,
            },
            policies: list(rules, "/policies").iter().map(policy).collect(),
            tolerance: Quantity::from_value(&rules["tolerance"]).map(fraction),
        }
    }

    fn longest_period(&self) -> Duration {
        let periods = self.policies.iter().map(|policy| policy.period);
        periods.max().unwrap_or_default()
    }
}

impl Tolerances {
    /// The tolerances of an autoscaler.
    pub(super) fn of(behavior: Option<&Behavior>) -> Self {
        let mut tolerances = Self::default();
        if let Some(Behavior { up, down }) = behavior {
            tolerances.up = up.tolerance.unwrap_or(tolerances.up);
            tolerances.down = down.tolerance.unwrap_or(tolerances.down);
        }
        tolerances
    }
}

impl History {
    /// Remembers the replicas of a target that is seen for the first time.
    pub(super) fn start(&mut self, now: Instant, current: i32) {
        if self.recommendations.is_empty() {
            self.recommendations.push((now, current));
        }
    }

    /// The highest recommendation of the last five minutes, for an autoscaler without a behavior.
    pub(super) fn stabilized(&mut self, now: Instant, desired: i32) -> i32 {
        self.recommendations
            .retain(|(at, _)| now.duration_since(*at) <= DOWN_WINDOW);
        let recent = self.recommendations.iter().map(|(_, replicas)| *replicas);
        let highest = recent.fold(desired, i32::max);
        self.recommendations.push((now, desired));
        highest
    }

    /// The recommendation within the windows of a behavior: not more than the lowest one in the window of scaling up, not less
    /// than the highest one in that of scaling down.
    pub(super) fn stabilized_by(
        &mut self,
        now: Instant,
        current: i32,
        desired: i32,
        behavior: &Behavior,
    ) -> Limited {
        let (mut lowest, mut highest) = (desired, desired);
        let [up, down] = [behavior.up.window, behavior.down.window];
        for (at, replicas) in &self.recommendations {
            let age = now.duration_since(*at);
            if age < up {
                lowest = lowest.min(*replicas);
            }
            if age < down {
                highest = highest.max(*replicas);
            }
        }
        self.recommendations
            .retain(|(at, _)| now.duration_since(*at) <= up.max(down));
        self.recommendations.push((now, desired));
        let replicas = current.max(lowest).min(highest);
        if desired >= current {
            let message = "recent recommendations were lower than current one, applying the lowest recent recommendation";
            (replicas, "ScaleUpStabilized", message)
        } else {
            (replicas, "ScaleDownStabilized", HIGHER)
        }
    }

    /// The replicas within the range and the policies of a behavior.
    pub(super) fn limited_by(
        &self,
        now: Instant,
        range: Range,
        current: i32,
        desired: i32,
        behavior: &Behavior,
    ) -> Limited {
        let limited = |replicas: i32, (reason, message)| (replicas, reason, message);
        if desired > current {
            let limit = self.up_limit(now, current, &behavior.up).max(current);
            let (most, why) = if range.most > limit {
                (limit, TOO_FAST_UP)
            } else {
                (range.most, TOO_MANY)
            };
            if desired > most {
                return limited(most, why);
            }
        } else if desired < current {
            let limit = self.down_limit(now, current, &behavior.down).min(current);
            let (least, why) = if range.least < limit {
                (limit, TOO_FAST_DOWN)
            } else {
                (range.least, TOO_FEW)
            };
            if desired < least {
                return limited(least, why);
            }
        }
        limited(desired, IN_RANGE)
    }

    /// Remembers a change of the target, for the periods of policies.
    pub(super) fn scaled(&mut self, now: Instant, from: i32, to: i32, behavior: &Behavior) {
        let (changes, rules) = if to > from {
            (&mut self.added, &behavior.up)
        } else {
            (&mut self.removed, &behavior.down)
        };
        let longest = rules.longest_period();
        changes.retain(|(at, _)| now.duration_since(*at) <= longest);
        changes.push((now, (to - from).abs()));
    }

    fn up_limit(&self, now: Instant, current: i32, rules: &Rules) -> i32 {
        let proposed = |policy: &Policy| {
            let start = self.at_start(now, current, policy.period);
            match policy.of {
                Unit::Pods => start.saturating_add(policy.value),
                // Rounded up, so that a small percentage of few pods is one more at least.
                Unit::Percent => ceil(f64::from(start) * (1.0 + f64::from(policy.value) / 100.0)),
            }
        };
        let proposals = rules.policies.iter().map(proposed);
        match rules.select {
            Select::Disabled => current,
            Select::Min => proposals.min().unwrap_or(i32::MAX),
            Select::Max => proposals.max().unwrap_or(i32::MIN),
        }
    }

    fn down_limit(&self, now: Instant, current: i32, rules: &Rules) -> i32 {
        let proposed = |policy: &Policy| {
            let start = self.at_start(now, current, policy.period);
            match policy.of {
                Unit::Pods => start.saturating_sub(policy.value),
                Unit::Percent => {
                    ceil((f64::from(start) * (1.0 - f64::from(policy.value) / 100.0)).trunc())
                }
            }
        };
        let proposals = rules.policies.iter().map(proposed);
        match rules.select {
            Select::Disabled => current,
            // The smallest change leaves the most replicas.
            Select::Min => proposals.max().unwrap_or(i32::MIN),
            Select::Max => proposals.min().unwrap_or(i32::MAX),
        }
    }

    /// The number of replicas at the start of a period that ends now.
    fn at_start(&self, now: Instant, current: i32, period: Duration) -> i32 {
        let sum = |changes: &[(Instant, i32)]| -> i32 {
            let recent = changes
                .iter()
                .filter(|(at, _)| now.duration_since(*at) < period);
            recent.map(|(_, replicas)| *replicas).sum()
        };
        current - sum(&self.added) + sum(&self.removed)
    }
}

/// The message of replicas that are kept up by an earlier recommendation.
pub(super) const HIGHER: &str = "recent recommendations were higher than current one, applying the highest recent recommendation";

/// The replicas within the range, and not more than twice the current ones or four: the limits of an autoscaler without a
/// behavior.
pub(super) fn limited(range: Range, current: i32, desired: i32) -> Limited {
    let limit = current.saturating_mul(2).max(4);
    let (most, too_many) = if range.most > limit {
        (limit, TOO_FAST_UP)
    } else {
        (range.most, TOO_MANY)
    };
    let (replicas, (reason, message)) = if desired < range.least {
        (range.least, TOO_FEW)
    } else if desired > most {
        (most, too_many)
    } else {
        (desired, IN_RANGE)
    };
    (replicas, reason, message)
}

/// The next whole number of replicas.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the largest number of replicas is that of 32 bits"
)]
pub(super) fn ceil(replicas: f64) -> i32 {
    replicas.ceil() as i32
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a tolerance has few digits, and comparisons with it are of doubles"
)]
fn fraction(tolerance: Quantity) -> f64 {
    tolerance.millis() as f64 / 1000.0
}
