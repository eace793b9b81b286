//! The group storage.k8s.io.

mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod default_name;
mod provisioner;
mod storage_class;
mod volume_attachment;
mod volume_attributes_class;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CSIDriver" => Arc::new(csi_driver::CSIDriver),
        "CSINode" => Arc::new(csi_node::CSINode),
        "CSIStorageCapacity" => Arc::new(csi_storage_capacity::CSIStorageCapacity),
        "StorageClass" => Arc::new(storage_class::StorageClass),
        "VolumeAttachment" => Arc::new(volume_attachment::VolumeAttachment),
        "VolumeAttributesClass" => Arc::new(volume_attributes_class::VolumeAttributesClass),
        _ => return None,
    })
}
