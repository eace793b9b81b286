//! What is injected.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, Container, Pod, Volume, VolumeMount};
use serde::Deserialize;

/// The configuration: containers and volumes, as in a pod.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sidecars {
    #[serde(default)]
    containers: Vec<Container>,
    #[serde(default)]
    volumes: Vec<Volume>,
}

impl Sidecars {
    /// Adds the containers and volumes, and returns the names that the pod has already: two of
    /// one name would make the pod invalid.
    pub fn inject(&self, pod: &mut Pod) -> Vec<String> {
        let spec = pod.spec.get_or_insert_default();
        let mut present = Vec::new();
        for container in &self.containers {
            let mut named = spec
                .containers
                .iter()
                .chain(spec.init_containers.iter().flatten());
            if named.any(|own| own.name == container.name) {
                present.push(container.name.clone());
            } else {
                spec.containers.push(container.clone());
            }
        }
        for volume in &self.volumes {
            let volumes = spec.volumes.get_or_insert_default();
            if volumes.iter().any(|own| own.name == volume.name) {
                present.push(volume.name.clone());
            } else {
                volumes.push(volume.clone());
            }
        }
        present
    }
}

impl Default for Sidecars {
    fn default() -> Self {
        let volume = "nginx-conf";
        Self {
            containers: vec![Container {
                name: "sidecar-nginx".to_owned(),
                image: Some("nginx:1.12.2".to_owned()),
                image_pull_policy: Some("IfNotPresent".to_owned()),
                volume_mounts: Some(vec![VolumeMount {
                    name: volume.to_owned(),
                    mount_path: "/etc/nginx".to_owned(),
                    ..VolumeMount::default()
                }]),
                ..Container::default()
            }],
            volumes: vec![Volume {
                name: volume.to_owned(),
                config_map: Some(ConfigMapVolumeSource {
                    name: "nginx-configmap".to_owned(),
                    ..ConfigMapVolumeSource::default()
                }),
                ..Volume::default()
            }],
        }
    }
}
