//! Webhook configurations, read from the store and compiled once per change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cel::Environment;
use kubewright_webhook_client::{ReviewVersion, Target};
use parking_lot::Mutex;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::expressions::Conditions;
use crate::matching::Criteria;

const GROUP: &str = "admissionregistration.k8s.io";

/// All webhooks of one sort, as of the last change.
pub(super) struct Configurations {
    resource: &'static str,
    compiled: Mutex<Option<(u64, Hooks)>>,
}

/// The flattened list of webhooks, in calling order.
pub(super) type Hooks = Arc<[Arc<Hook>]>;

/// One webhook, ready to be matched and called.
#[derive(Debug)]
pub(super) struct Hook {
    /// `<configuration>/<webhook>/<n>`, n counting repeats of the name.
    pub(super) id: Arc<str>,
    pub(super) configuration: Arc<str>,
    pub(super) name: String,
    pub(super) criteria: Criteria,
    pub(super) conditions: Conditions,
    pub(super) ignore_failure: bool,
    pub(super) if_needed: bool,
    pub(super) dry_run: DryRun,
    pub(super) timeout: Duration,
    pub(super) review: Option<ReviewVersion>,
    pub(super) target: Target,
}

/// What `sideEffects` says about a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DryRun {
    Supported,
    Unsupported,
    Unknown,
}

impl Configurations {
    pub(super) fn new(resource: &'static str) -> Self {
        Self {
            resource,
            compiled: Mutex::new(None),
        }
    }

    /// The webhooks as of now.
    pub(super) fn current(&self, cluster: &dyn Cluster) -> Hooks {
        let number = cluster.change_number(GROUP, self.resource);
        let mut compiled = self.compiled.lock();
        match &*compiled {
            Some((of, hooks)) if *of == number => Arc::clone(hooks),
            _ => {
                let hooks = flatten(cluster.list(GROUP, self.resource, ""));
                *compiled = Some((number, Arc::clone(&hooks)));
                hooks
            }
        }
    }
}

fn flatten(mut configurations: Vec<Arc<Value>>) -> Hooks {
    configurations.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    let mut hooks = Vec::new();
    for configuration in &configurations {
        hooks.extend(of_configuration(configuration));
    }
    hooks.into()
}

/// The webhooks of one configuration, in its order.
pub(super) fn of_configuration(configuration: &Value) -> Vec<Arc<Hook>> {
    let mut hooks = Vec::new();
    let configuration_name: Arc<str> = name_of(configuration).into();
    let mut repeats: HashMap<&str, usize> = HashMap::new();
    for webhook in configuration["webhooks"].as_array().into_iter().flatten() {
        let name = webhook["name"].as_str().unwrap_or_default();
        let n = repeats.entry(name).or_default();
        let hook = Hook::from_object(&configuration_name, name, *n, webhook);
        hooks.push(Arc::new(hook));
        *n += 1;
    }
    hooks
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

impl Hook {
    fn from_object(configuration: &Arc<str>, name: &str, n: usize, webhook: &Value) -> Self {
        Self {
            id: format!("{configuration}/{name}/{n}").into(),
            configuration: Arc::clone(configuration),
            name: name.to_owned(),
            criteria: Criteria::of_webhook(webhook),
            conditions: Conditions::from_object(
                &webhook["matchConditions"],
                Environment::admission(),
            ),
            ignore_failure: webhook["failurePolicy"] == "Ignore",
            if_needed: webhook["reinvocationPolicy"] == "IfNeeded",
            dry_run: match webhook["sideEffects"].as_str() {
                Some("None" | "NoneOnDryRun") => DryRun::Supported,
                Some(_) => DryRun::Unsupported,
                None => DryRun::Unknown,
            },
            timeout: Duration::from_secs(webhook["timeoutSeconds"].as_u64().unwrap_or(10)),
            review: ReviewVersion::preferred(&webhook["admissionReviewVersions"]),
            target: Target::of_admission(&webhook["clientConfig"]),
        }
    }
}
