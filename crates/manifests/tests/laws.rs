//! What holds for all webhooks.

use std::time::Duration;

use kubewright_manifests::Manifests;
use kubewright_webhook::{Hook, MatchPolicy, Selector};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

use super::{built, in_cluster, mutator, validator};

#[derive(Debug, Clone)]
struct Described {
    mutates: bool,
    labels: Vec<(String, String)>,
    condition: String,
    seconds: u64,
    open: bool,
    exact: bool,
}

impl Described {
    fn hook(&self, name: &str) -> Hook {
        let labels = self.labels.iter();
        let selector = labels.fold(Selector::everything(), |selector, (key, value)| {
            selector.and_label(key, value)
        });
        let hook = if self.mutates {
            mutator(name)
        } else {
            validator(name)
        };
        let hook = hook
            .in_namespaces(selector.clone())
            .for_objects(selector)
            .when("condition", &self.condition)
            .timeout(Duration::from_secs(self.seconds));
        let hook = if self.open { hook.fail_open() } else { hook };
        if self.exact {
            hook.match_policy(MatchPolicy::Exact)
        } else {
            hook
        }
    }
}

prop_compose! {
    fn described()(
        mutates: bool,
        labels in vec(("[a-z]{1,3}", "\\PC{0,8}|yes|no|on|0644|1e3|~|null"), 0..4),
        condition in "\\PC{0,20}|[a-z: #'\"\n-]{0,20}",
        seconds in 1..=30_u64,
        open: bool,
        exact: bool,
    ) -> Described {
        Described { mutates, labels, condition, seconds, open, exact }
    }
}

fn manifests(hooks: &std::collections::BTreeMap<String, Described>) -> Manifests {
    built(
        hooks.iter().map(|(name, described)| described.hook(name)),
        in_cluster(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_same_webhooks_give_the_same_text(hooks in btree_map("[a-z]{1,8}", described(), 0..6)) {
        prop_assert_eq!(manifests(&hooks).to_yaml(), manifests(&hooks).to_yaml());
    }

    #[test]
    fn the_text_holds_exactly_the_objects(hooks in btree_map("[a-z]{1,8}", described(), 1..6)) {
        let manifests = manifests(&hooks);
        let read: Vec<Value> = serde_saphyr::from_multiple(&manifests.to_yaml()).unwrap();
        prop_assert_eq!(read.as_slice(), manifests.objects());
    }

    #[test]
    fn every_hook_stands_in_one_configuration(hooks in btree_map("[a-z]{1,8}", described(), 0..6)) {
        let manifests = manifests(&hooks);
        let webhooks = manifests.objects().iter().flat_map(|object| object["webhooks"].as_array().unwrap());
        let mut names: Vec<&str> = webhooks.map(|webhook| webhook["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        let expected: Vec<String> = hooks.keys().map(|name| format!("{name}.example.com")).collect();
        prop_assert_eq!(names, expected);
    }
}
