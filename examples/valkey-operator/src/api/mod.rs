//! Valkeys in their two versions, and how one becomes the other.

pub mod v1;
pub mod v1alpha1;

use kubewright::prelude::ResourceExt as _;

impl From<v1alpha1::Valkey> for v1::Valkey {
    fn from(old: v1alpha1::Valkey) -> Self {
        let mut valkey = Self::new(
            &old.name_any(),
            v1::ValkeySpec {
                version: old.spec.version,
                replicas: old.spec.size,
                storage: v1::Storage {
                    size: old.spec.disk,
                    class_name: old.spec.storage_class,
                },
                password: v1::Password {
                    rotate_every_days: old.spec.rotate_password_every_days,
                },
                backup: old.spec.backup,
            },
        );
        valkey.metadata = old.metadata;
        valkey.status = old.status;
        valkey
    }
}

impl From<v1::Valkey> for v1alpha1::Valkey {
    fn from(new: v1::Valkey) -> Self {
        let mut valkey = Self::new(
            &new.name_any(),
            v1alpha1::ValkeySpec {
                version: new.spec.version,
                size: new.spec.replicas,
                disk: new.spec.storage.size,
                storage_class: new.spec.storage.class_name,
                rotate_password_every_days: new.spec.password.rotate_every_days,
                backup: new.spec.backup,
            },
        );
        valkey.metadata = new.metadata;
        valkey.status = new.status;
        valkey
    }
}
