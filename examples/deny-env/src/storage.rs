//! A StorageClass for claims that name none.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kubewright::prelude::*;

/// Gives claims that name no StorageClass a default one.
#[derive(Debug)]
pub struct DefaultStorageClass {
    name: String,
}

impl DefaultStorageClass {
    /// Makes `name` the default.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }

    pub(crate) fn hook(self) -> Hook {
        mutating("default-storage-class", self).on([Create])
    }
}

impl Mutate<PersistentVolumeClaim> for DefaultStorageClass {
    async fn mutate(
        &self,
        change: Change<PersistentVolumeClaim>,
        _: Review,
    ) -> Mutated<PersistentVolumeClaim> {
        let mut claim = change.into_object();
        // Before the field there was an annotation, which still counts. An empty name counts too:
        // it asks for a volume without a class.
        let annotated = claim.annotations().contains_key(LEGACY_ANNOTATION);
        let spec = claim.spec.get_or_insert_default();
        if spec.storage_class_name.is_none() && !annotated {
            spec.storage_class_name = Some(self.name.clone());
        }
        Ok(claim)
    }
}

const LEGACY_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
