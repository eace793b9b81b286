//! How many pods there may be too many and too few while a Deployment rolls.

use serde_json::Value;

use super::annotations::{DESIRED, MOST, set_annotation};

use super::super::super::object::{number, text};

/// The bounds of one Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fenceposts {
    rolls: bool,
    pub(super) surge: i64,
    pub(super) unavailable: i64,
}

impl Fenceposts {
    pub(super) fn of(deployment: &Value) -> Self {
        if text(deployment, "/spec/strategy/type") != "RollingUpdate" {
            return Self {
                rolls: false,
                surge: 0,
                unavailable: 0,
            };
        }
        let wanted = number(deployment, "/spec/replicas");
        let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
        let surge = share(&rolling["maxSurge"], wanted, true);
        let mut unavailable = share(&rolling["maxUnavailable"], wanted, false);
        if surge == 0 && unavailable == 0 {
            unavailable = 1;
        }
        Self {
            rolls: true,
            surge,
            unavailable: unavailable.min(wanted),
        }
    }

    /// Whether old pods are replaced by new ones step by step.
    pub(super) fn rolls(&self) -> bool {
        self.rolls
    }

    /// How many pods the new set may have, if it has `own` and all sets together `total`.
    pub(super) fn new_replicas(&self, wanted: i64, own: i64, total: i64) -> i64 {
        if !self.rolls {
            return wanted;
        }
        let most = wanted + self.surge;
        if total >= most {
            return own;
        }
        own + (most - total).min(wanted - own)
    }

    /// Notes on a set what its Deployment wants, by which changes of it are told.
    pub(super) fn annotate(&self, set: &mut Value, wanted: i64) {
        set_annotation(set, DESIRED, &wanted.to_string());
        set_annotation(set, MOST, &(wanted + self.surge).to_string());
    }
}

/// A number, or a percentage of another one.
pub(crate) fn share(value: &Value, of: i64, up: bool) -> i64 {
    match value {
        Value::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or_default();
            let product = percent.saturating_mul(of);
            if up {
                (product + 99) / 100
            } else {
                product / 100
            }
        }
        value => value.as_i64().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(replicas: i64, surge: &Value, unavailable: &Value) -> Fenceposts {
        Fenceposts::of(&json!({"spec": {
            "replicas": replicas,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
            },
        }}))
    }

    #[test]
    fn percentages_are_rounded_up_for_the_surge_and_down_for_what_may_be_missing() {
        let posts = of(10, &json!("25%"), &json!("25%"));
        assert_eq!((posts.surge, posts.unavailable), (3, 2));
        let posts = of(1, &json!("25%"), &json!("25%"));
        assert_eq!((posts.surge, posts.unavailable), (1, 0));
    }

    #[test]
    fn a_rollout_that_could_do_nothing_may_miss_one() {
        let posts = of(3, &json!(0), &json!("10%"));
        assert_eq!((posts.surge, posts.unavailable), (0, 1));
        assert_eq!(of(2, &json!(0), &json!(5)).unavailable, 2);
    }

    #[test]
    fn the_new_set_grows_into_the_surge() {
        let posts = of(4, &json!(1), &json!(0));
        assert_eq!(posts.new_replicas(4, 0, 4), 1);
        assert_eq!(posts.new_replicas(4, 1, 5), 1);
        assert_eq!(posts.new_replicas(4, 0, 0), 4);
    }
}
