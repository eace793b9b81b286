//! What only mutating policies have: mutations.

use std::sync::{Arc, OnceLock};

use kubewright_webhook::{Hook, Object, Role, mutating};

use super::Policy;

use crate::expression::Source;
use crate::handler::{Handler, Json};
use crate::merge::Lists;
use crate::params::is_built_in;
use crate::parts::{Change, Mutation};
use crate::{Mutates, Validates};

impl<K: Object> Policy<K, Validates> {
    /// Starts a policy that changes objects of the kind `K`.
    pub fn mutating(name: impl Into<String>) -> Policy<K, Mutates>
    where
        K::DynamicType: Default,
    {
        let (name, ready) = (name.into(), Arc::<OnceLock<_>>::default());
        let hook = mutating::<Json<K>, _>(&name, Handler(Arc::clone(&ready)));
        let of = K::DynamicType::default();
        let lists = Lists {
            is_built_in: is_built_in(&K::group(&of)),
            is_service: K::kind(&of) == "Service",
            named: Vec::new(),
        };
        Policy::new(name, Role::Mutating, hook, ready).part(|parts| parts.lists = lists)
    }
}

impl<K: Object> Policy<K, Mutates> {
    /// Merges an `Object` into the object, as server-side apply does: an apply configuration.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::mutating("runtime")
    ///     .when("no-runtime", "!has(object.spec.runtimeClassName)")
    ///     .apply("Object{spec: Object.spec{runtimeClassName: 'gvisor'}}");
    /// let answer = policy.decide(&Request::create::<Pod>(json!({"spec": {"hostname": "web"}})));
    /// let spec = &answer.object.unwrap()["spec"];
    /// assert_eq!(*spec, json!({"hostname": "web", "runtimeClassName": "gvisor"}));
    /// ```
    #[track_caller]
    pub fn apply(self, expression: impl Into<String>) -> Self {
        self.mutation(Change::Apply, Source::new(expression))
    }

    /// Changes the object by a JSON patch, a list of `JSONPatch`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::mutating("hosts")
    ///     .patch("[JSONPatch{op: 'remove', path: '/spec/hostNetwork'}]");
    /// let answer = policy.decide(&Request::create::<Pod>(json!({"spec": {"hostNetwork": true}})));
    /// assert_eq!(answer.object.unwrap()["spec"], json!({}));
    /// ```
    #[track_caller]
    pub fn patch(self, expression: impl Into<String>) -> Self {
        self.mutation(Change::Patch, Source::new(expression))
    }

    fn mutation(self, change: Change, expression: Source) -> Self {
        self.part(|parts| parts.mutations.push(Mutation { change, expression }))
    }

    /// Evaluates the policy again if another one changed the object after it.
    pub fn reinvoked(self) -> Self {
        self.of_hook(Hook::reinvoked)
    }

    /// Says by which fields the items of a list are merged that [`apply`](Self::apply) gives, by its path such as `spec.backends`: a
    /// webhook does not know the schema of a custom resource. API servers go by the schema. No fields make a set of the list.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::mutating("limits")
    ///     .merge_list("spec.backends", ["host"])
    ///     .apply("Object{spec: Object.spec{backends: [Object.spec.backends{host: 'a', weight: 2}]}}");
    /// let object = json!({"spec": {"backends": [{"host": "a"}, {"host": "b"}]}});
    /// let answer = policy.decide(&Request::create::<Pod>(object));
    /// assert_eq!(answer.object.unwrap()["spec"]["backends"], json!([{"host": "a", "weight": 2}, {"host": "b"}]));
    /// ```
    pub fn merge_list<F: Into<String>>(
        self,
        path: impl Into<String>,
        keys: impl IntoIterator<Item = F>,
    ) -> Self {
        let keys = keys.into_iter().map(Into::into).collect();
        self.part(|parts| parts.lists.named.push((path.into(), keys)))
    }
}
