//! Converts WhiteList between its versions, through the hub v1beta1.

use kubewright::prelude::*;
use kubewright::webhook::Converting;

use crate::api::police;

/// Returns the conversion webhook of WhiteList.
pub fn conversion() -> Converting<police::v1beta1::WhiteList> {
    converting::<police::v1beta1::WhiteList>()
        .spoke::<police::v1::WhiteList>()
        .spoke::<police::v2::WhiteList>()
}

impl From<police::v1beta1::WhiteList> for police::v1::WhiteList {
    fn from(hub: police::v1beta1::WhiteList) -> Self {
        Self {
            metadata: hub.metadata,
            spec: police::v1::WhiteListSpec { foo: hub.spec.foo },
            status: hub.status.map(|status| police::v1::WhiteListStatus {
                conditions: status.conditions,
                observed_generation: status.observed_generation,
            }),
        }
    }
}

impl From<police::v1::WhiteList> for police::v1beta1::WhiteList {
    fn from(spoke: police::v1::WhiteList) -> Self {
        Self {
            metadata: spoke.metadata,
            spec: police::v1beta1::WhiteListSpec {
                foo: spoke.spec.foo,
            },
            status: spoke.status.map(|status| police::v1beta1::WhiteListStatus {
                conditions: status.conditions,
                observed_generation: status.observed_generation,
            }),
        }
    }
}

impl From<police::v1beta1::WhiteList> for police::v2::WhiteList {
    fn from(hub: police::v1beta1::WhiteList) -> Self {
        Self {
            metadata: hub.metadata,
            spec: police::v2::WhiteListSpec { foo: hub.spec.foo },
            status: hub.status.map(|status| police::v2::WhiteListStatus {
                conditions: status.conditions,
                observed_generation: status.observed_generation,
            }),
        }
    }
}

impl From<police::v2::WhiteList> for police::v1beta1::WhiteList {
    fn from(spoke: police::v2::WhiteList) -> Self {
        Self {
            metadata: spoke.metadata,
            spec: police::v1beta1::WhiteListSpec {
                foo: spoke.spec.foo,
            },
            status: spoke.status.map(|status| police::v1beta1::WhiteListStatus {
                conditions: status.conditions,
                observed_generation: status.observed_generation,
            }),
        }
    }
}
