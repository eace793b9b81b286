//! The validator that the program is named after.

use k8s_openapi::api::core::v1::{EnvFromSource, EnvVar, Pod};
use kubewright::prelude::*;
use kubewright::webhook::Scope;

use crate::Options;

/// Denies pods with a container that uses environment variables.
#[derive(Debug)]
pub struct DenyEnv {
    init_containers: bool,
    ephemeral_containers: bool,
    env_from: bool,
}

impl DenyEnv {
    /// Takes what counts from the program's options.
    pub fn new(options: &Options) -> Self {
        Self {
            init_containers: options.init_containers,
            ephemeral_containers: options.ephemeral_containers,
            env_from: options.env_from,
        }
    }

    pub(crate) fn hook(self) -> Hook {
        let ephemeral = self.ephemeral_containers;
        let hook = validating("denyenv", self).on([Create]);
        if !ephemeral {
            return hook;
        }
        // No pod is created with them: `kubectl debug` adds them to a pod that runs.
        let rule = Rule::new([Update], "", "v1", "pods/ephemeralcontainers");
        hook.rule(rule.scope(Scope::Namespaced))
    }

    fn uses(&self, env: Option<&Vec<EnvVar>>, from: Option<&Vec<EnvFromSource>>) -> bool {
        env.is_some_and(|env| !env.is_empty())
            || self.env_from && from.is_some_and(|from| !from.is_empty())
    }

    /// The names of the containers that use environment variables, in the order of the pod.
    fn offenders<'a>(&self, pod: &'a Pod) -> Vec<&'a str> {
        let Some(spec) = &pod.spec else {
            return Vec::new();
        };
        let init = spec
            .init_containers
            .iter()
            .flatten()
            .filter(|_| self.init_containers);
        let usual = spec
            .containers
            .iter()
            .chain(init)
            .filter(|container| self.uses(container.env.as_ref(), container.env_from.as_ref()))
            .map(|container| container.name.as_str());
        let ephemeral = spec
            .ephemeral_containers
            .iter()
            .flatten()
            .filter(|_| self.ephemeral_containers)
            .filter(|container| self.uses(container.env.as_ref(), container.env_from.as_ref()))
            .map(|container| container.name.as_str());
        usual.chain(ephemeral).collect()
    }
}

impl Validate<Pod> for DenyEnv {
    async fn validate(&self, change: Change<Pod>, review: Review) -> Validated {
        let mut offenders = self.offenders(change.object());
        // A container that was let in before is no reason to refuse the next one.
        if let Change::Update { old, .. } = &change {
            let known = self.offenders(old);
            offenders.retain(|name| !known.contains(name));
        }
        for name in &offenders {
            review.warn(format_args!("{name} is using env vars"));
        }
        match offenders.first() {
            Some(name) => Err(Denial::new(format_args!("{name} is using env vars"))
                .code(402)
                .into()),
            None => Ok(()),
        }
    }
}
