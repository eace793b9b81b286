//! Namespaces in which only some users may create objects.

use kubewright::prelude::*;
use kubewright::webhook::Scope;

/// Denies the creation of objects in reserved namespaces to all but listed users.
#[derive(Debug)]
pub struct ReservedNamespaces {
    namespaces: Vec<String>,
    users: Vec<String>,
}

impl ReservedNamespaces {
    /// Reserves `namespaces` for `users`.
    pub fn new(namespaces: Vec<String>, users: Vec<String>) -> Self {
        Self { namespaces, users }
    }

    pub(crate) fn hook(self) -> Hook {
        // The API server asks about these namespaces alone, so that nothing else waits for us.
        let reserved =
            Selector::everything().and_in("kubernetes.io/metadata.name", self.namespaces.clone());
        validating("reserved-namespaces", self)
            .rule(Rule::new([Create], "*", "*", "*").scope(Scope::Namespaced))
            .in_namespaces(reserved)
    }
}

impl Validate<PartialObjectMeta<DynamicObject>> for ReservedNamespaces {
    async fn validate(
        &self,
        _: Change<PartialObjectMeta<DynamicObject>>,
        review: Review,
    ) -> Validated {
        let namespace = review.namespace().unwrap_or_default();
        let user = &review.user().username;
        if self.namespaces.iter().any(|reserved| reserved == namespace)
            && !self.users.contains(user)
        {
            return deny(format_args!(
                "namespace `{namespace}` is reserved: `{user}` cannot create objects in it"
            ));
        }
        Ok(())
    }
}
