//! How much TopoLVM storage the volumes of a pod need.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, Volume};
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright::prelude::*;

use crate::bytes::whole_bytes;
use crate::lookup::{Lookup, LookupError};

/// A claim that asks for nothing gets this much.
const DEFAULT_BYTES: u64 = 1 << 30;

/// The parameter of a StorageClass that names its device class.
const DEVICE_CLASS: &str = "topolvm.io/device-class";

/// The device class of a StorageClass that names none.
const DEFAULT_DEVICE_CLASS: &str = "00default";

/// What volumes lead to.
pub(crate) struct Storage {
    claims: Lookup<PersistentVolumeClaim>,
    classes: Lookup<StorageClass>,
    /// The provisioners whose volumes count.
    provisioners: &'static [&'static str],
}

/// What volumes need.
#[derive(Debug, PartialEq)]
pub(crate) enum Demand {
    /// Bytes of each device class.
    Bytes(BTreeMap<String, u64>),
    /// One of the claims has its volume already, so there is nothing left to find room for.
    Bound,
}

/// Why it is not known what volumes need.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    #[error(transparent)]
    Lookup(#[from] LookupError),
    #[error("the volumes need more than {} bytes", u64::MAX)]
    TooMuch,
}

impl Storage {
    pub(crate) fn new(needs: &mut Needs, provisioners: &'static [&'static str]) -> Self {
        Self {
            claims: Lookup::new(needs),
            classes: Lookup::new(needs),
            provisioners,
        }
    }

    /// What the volumes of a pod in a namespace need.
    pub(crate) async fn needed(
        &self,
        namespace: &str,
        volumes: &[Volume],
    ) -> Result<Demand, StorageError> {
        let mut demand = BTreeMap::new();
        for volume in volumes {
            let claim = self.claim(namespace, volume).await?;
            let template = volume.ephemeral.as_ref();
            let template = template.and_then(|ephemeral| ephemeral.volume_claim_template.as_ref());
            let spec = match (&claim, template) {
                (Some(claim), _) => claim.spec.as_ref(),
                (None, Some(template)) => Some(&template.spec),
                (None, None) => None,
            };
            let Some(spec) = spec else { continue };
            let Some(device_class) = self.device_class(spec).await? else {
                continue;
            };
            if claim.as_ref().is_some_and(is_bound) {
                return Ok(Demand::Bound);
            }
            let sum: &mut u64 = demand.entry(device_class).or_default();
            *sum = sum.checked_add(bytes(spec)).ok_or(StorageError::TooMuch)?;
        }
        Ok(Demand::Bytes(demand))
    }

    /// The claim that a volume names. A pod may come before its claim: that one does not count.
    async fn claim(
        &self,
        namespace: &str,
        volume: &Volume,
    ) -> Result<Option<PersistentVolumeClaim>, StorageError> {
        match &volume.persistent_volume_claim {
            Some(source) => Ok(self.claims.get((namespace, &*source.claim_name)).await?),
            None => Ok(None),
        }
    }

    /// The device class of a claim, if it is one of TopoLVM.
    async fn device_class(
        &self,
        claim: &PersistentVolumeClaimSpec,
    ) -> Result<Option<String>, StorageError> {
        let name = claim.storage_class_name.as_deref().unwrap_or_default();
        if name.is_empty() {
            return Ok(None);
        }
        let Some(class) = self.classes.get(name).await? else {
            return Ok(None);
        };
        if !self.provisioners.contains(&&*class.provisioner) {
            return Ok(None);
        }
        let parameters = class.parameters.unwrap_or_default();
        let said = parameters.get(DEVICE_CLASS).filter(|said| !said.is_empty());
        Ok(Some(
            said.map_or(DEFAULT_DEVICE_CLASS, String::as_str).to_owned(),
        ))
    }
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    let phase = claim
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    !matches!(phase, None | Some("" | "Pending"))
}

fn bytes(claim: &PersistentVolumeClaimSpec) -> u64 {
    let requests = claim
        .resources
        .as_ref()
        .and_then(|resources| resources.requests.as_ref());
    let storage = requests.and_then(|requests| requests.get("storage"));
    match storage.and_then(whole_bytes) {
        None | Some(0) => DEFAULT_BYTES,
        Some(bytes) => bytes,
    }
}
