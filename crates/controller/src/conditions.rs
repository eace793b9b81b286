//! Conditions: what a status says of its object, in the form that all of Kubernetes has for it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Status of a condition, as in `status.conditions[].status`.
///
/// ```
/// use kubewright_controller::ConditionStatus;
///
/// assert_eq!(ConditionStatus::from(true), ConditionStatus::True);
/// assert_eq!(ConditionStatus::Unknown.to_string(), "Unknown");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "Kubernetes knows these three and no others"
)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The controller cannot tell whether the condition holds.
    Unknown,
}

/// Sets a condition, in the place of the one of its type if there is one. Returns whether that changes anything.
///
/// The time of the last transition is that of `new` only if the status of the condition is another one now: clients see from
/// it since when something holds. [`Context::condition`](crate::Context::condition) makes conditions.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
/// use k8s_openapi::jiff::Timestamp;
/// use kubewright_controller::set_condition;
///
/// let ready = |second, status: &str| Condition {
///     type_: "Ready".into(),
///     status: status.into(),
///     reason: "Reconciled".into(),
///     message: String::new(),
///     observed_generation: None,
///     last_transition_time: Time(Timestamp::from_second(second).unwrap()),
/// };
/// let mut conditions = vec![ready(1, "True")];
///
/// assert!(!set_condition(&mut conditions, ready(2, "True")));
/// assert_eq!(conditions, [ready(1, "True")]);
///
/// assert!(set_condition(&mut conditions, ready(3, "False")));
/// assert_eq!(conditions, [ready(3, "False")]);
/// ```
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) -> bool {
    let known = conditions.iter_mut().find(|known| known.type_ == new.type_);
    let Some(known) = known else {
        conditions.push(new);
        return true;
    };
    if known.status == new.status {
        new.last_transition_time = known.last_transition_time.clone();
    }
    let is_different = *known != new;
    *known = new;
    is_different
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn condition(name: &str, status: ConditionStatus, reason: &str, second: i64) -> Condition {
        Condition {
            type_: name.to_owned(),
            status: status.to_string(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: Some(second),
            last_transition_time: Time(Timestamp::from_second(second).unwrap()),
        }
    }

    #[test]
    fn a_condition_that_is_new_is_added_and_the_others_stay_where_they_are() {
        let other = condition("Progressing", ConditionStatus::Unknown, "Waiting", 1);
        let ready = condition("Ready", ConditionStatus::True, "Reconciled", 2);
        let mut conditions = vec![other.clone()];
        assert!(set_condition(&mut conditions, ready.clone()));
        assert_eq!(conditions, [other.clone(), ready.clone()]);
        let mut known = other.clone();
        known.reason = "Working".to_owned();
        assert!(set_condition(&mut conditions, known.clone()));
        assert_eq!(conditions, [known, ready]);
    }

    #[test]
    fn another_reason_is_a_change_and_no_transition() {
        let mut conditions = vec![condition("Ready", false.into(), "Missing", 1)];
        let later = condition("Ready", false.into(), "Refused", 2);
        assert!(set_condition(&mut conditions, later.clone()));
        let first = conditions[0].last_transition_time.clone();
        assert_eq!(first, Time(Timestamp::from_second(1).unwrap()));
        assert_eq!(conditions[0].reason, "Refused");
        assert_eq!(conditions[0].observed_generation, Some(2));
        assert!(!set_condition(&mut conditions, later));
    }
}
