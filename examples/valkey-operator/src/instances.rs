//! The instances of a Valkey, and how a change reaches them: one after the other, the primary last.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, Container, ContainerPort, EnvVar, EnvVarSource,
    PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodCondition, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, SeccompProfile, SecretKeySelector, SecretVolumeSource,
    SecurityContext, TCPSocketAction, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright::controller::{Context, Error, Scope};
use kubewright::prelude::*;

use crate::api::v1::Valkey;
use crate::names;
use crate::settings::PORT;

pub(crate) struct Instances {
    sets: Cached<StatefulSet>,
    kept: CreateOrUpdate<StatefulSet>,
    pods: Cached<Pod>,
    deleter: Deleter<Pod>,
}

/// What an instance has started with. Whatever changes it has instances start again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) version: String,
    pub(crate) passwords: i64,
}

/// The instances as they are.
pub(crate) struct Observed {
    instances: BTreeMap<i32, Instance>,
    replicas: i32,
}

struct Instance {
    pod: Pod,
    revision: Option<Revision>,
    is_ready: bool,
}

impl Instances {
    pub(crate) fn new(needs: &mut Needs, own: &Scope) -> Self {
        Self {
            sets: needs.within(own.clone()).cached(),
            kept: needs.within(own.clone()).create_or_update(),
            pods: needs.within(own.clone()).cached(),
            deleter: needs.within(own.clone()).deleter(),
        }
    }

    pub(crate) async fn observe(&self, valkey: &Valkey) -> Result<Observed, Error> {
        let name = valkey.name_any();
        let namespace = valkey.namespace().unwrap_or_default();
        let mut instances = BTreeMap::new();
        for pod in self.pods.list_in(&namespace).await? {
            if pod.labels().get(names::VALKEY) == Some(&name)
                && let Some(ordinal) = ordinal(&pod, &name)
            {
                let instance = Instance {
                    revision: Revision::read(pod.annotations()),
                    is_ready: is_ready(&pod),
                    pod,
                };
                instances.insert(ordinal, instance);
            }
        }
        Ok(Observed {
            instances,
            replicas: valkey.spec.replicas,
        })
    }

    /// Brings the instances one step closer to a revision.
    pub(crate) async fn keep(
        &self,
        valkey: &Arc<Valkey>,
        cx: &Context,
        revision: &Revision,
        observed: &Observed,
    ) -> Result<(), Error> {
        let namespace = valkey.namespace().unwrap_or_default();
        let name = valkey.name_any();
        let set = self.sets.get((&*namespace, &*name)).await?;
        let partition = set.map_or(0, |set| partition(&set, revision, observed));
        let wanted = stateful_set(valkey, revision, partition);
        cx.create_or_update(&self.kept, wanted).await?;
        // A StatefulSet waits for an instance to become ready before it replaces it, which one that cannot start never does.
        for instance in observed.instances.values() {
            let is_broken = !instance.is_ready && instance.revision.as_ref() != Some(revision);
            if is_broken && instance.is_stuck(cx.now()) {
                self.deleter.delete_unchanged(&instance.pod).await?;
            }
        }
        Ok(())
    }
}

impl Observed {
    pub(crate) fn ready(&self) -> i32 {
        let ready = self.wanted().filter(|instance| instance.is_ready);
        i32::try_from(ready.count()).unwrap_or(i32::MAX)
    }

    /// Whether every instance is there and ready, and started with such a revision.
    pub(crate) fn all(&self, is: impl Fn(&Revision) -> bool) -> bool {
        let are_there = self.instances.keys().copied().eq(0..self.replicas);
        are_there
            && self
                .instances
                .values()
                .all(|instance| instance.is_ready && instance.revision.as_ref().is_some_and(&is))
    }

    /// Whether an instance started with such a revision.
    pub(crate) fn any(&self, is: impl Fn(&Revision) -> bool) -> bool {
        let mut revisions = self
            .instances
            .values()
            .filter_map(|instance| instance.revision.as_ref());
        revisions.any(is)
    }

    /// The version that every instance runs, if it is one.
    pub(crate) fn version(&self) -> Option<&str> {
        let first = self.instances.get(&0)?.revision.as_ref()?;
        let version = &first.version;
        self.all(|revision| revision.version == *version)
            .then_some(version)
    }

    /// An instance that should be ready with this revision, and has not become so in ten minutes.
    pub(crate) fn stuck(&self, revision: &Revision, now: Timestamp) -> Option<String> {
        let mut stuck = self.wanted().filter(|instance| {
            !instance.is_ready
                && instance.revision.as_ref() == Some(revision)
                && instance.is_stuck(now)
        });
        stuck.next().map(|instance| instance.pod.name_any())
    }

    fn wanted(&self) -> impl Iterator<Item = &Instance> {
        self.instances
            .range(..self.replicas)
            .map(|(_, instance)| instance)
    }
}

impl Instance {
    /// Whether it is not ready, and has not been for a while.
    fn is_stuck(&self, now: Timestamp) -> bool {
        let unready = ready(&self.pod).filter(|condition| condition.status != "True");
        let since = unready.and_then(|condition| condition.last_transition_time.as_ref());
        since.is_some_and(|since| now.duration_since(since.0) >= PATIENCE)
    }
}

impl Revision {
    fn read(annotations: &BTreeMap<String, String>) -> Option<Self> {
        let (version, passwords) = annotations.get(REVISION)?.split_once('/')?;
        Some(Self {
            version: version.to_owned(),
            passwords: passwords.parse().ok()?,
        })
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let text = format!("{}/{}", self.version, self.passwords);
        BTreeMap::from([(REVISION.to_owned(), text)])
    }
}

/// The number of the first instance that gets the revision: the last one at first, and then each time one less, as soon as all from it
/// on are ready.
fn partition(set: &StatefulSet, revision: &Revision, observed: &Observed) -> i32 {
    let template = set.spec.template.metadata.as_ref();
    let template = template.and_then(|metadata| metadata.annotations.as_ref());
    let last = observed.replicas - 1;
    if template.and_then(Revision::read).as_ref() != Some(revision) {
        return last;
    }
    let strategy = set.spec.update_strategy.as_ref();
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let current = rolling.and_then(|rolling| rolling.partition).unwrap_or(0);
    let has_it = |ordinal: &i32| {
        let instance = observed.instances.get(ordinal);
        instance.is_some_and(|instance| {
            instance.is_ready && instance.revision.as_ref() == Some(revision)
        })
    };
    let updated = (0..=last).rev().take_while(has_it).last();
    let next = updated.unwrap_or(observed.replicas) - 1;
    current.min(last).min(next.max(0))
}

fn ordinal(pod: &Pod, valkey: &str) -> Option<i32> {
    let name = pod.metadata.name.as_deref()?;
    name.strip_prefix(valkey)?.strip_prefix('-')?.parse().ok()
}

fn is_ready(pod: &Pod) -> bool {
    let is_going = pod.metadata.deletion_timestamp.is_some();
    !is_going && ready(pod).is_some_and(|condition| condition.status == "True")
}

fn ready(pod: &Pod) -> Option<&PodCondition> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == "Ready")
}

fn stateful_set(valkey: &Valkey, revision: &Revision, partition: i32) -> StatefulSet {
    let name = valkey.name_any();
    let mut pod = names::metadata(String::new(), &name, "instance");
    pod.name = None;
    pod.annotations = Some(revision.annotations());
    StatefulSet {
        metadata: names::metadata(name.clone(), &name, "instance"),
        spec: StatefulSetSpec {
            replicas: Some(valkey.spec.replicas),
            selector: names::instances(&name),
            service_name: Some(names::instance_service(&name)),
            template: PodTemplateSpec {
                metadata: Some(pod),
                spec: Some(pod_spec(&name, &revision.version)),
            },
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateStatefulSetStrategy {
                    partition: Some(partition),
                    ..RollingUpdateStatefulSetStrategy::default()
                }),
            }),
            volume_claim_templates: Some(vec![claim(valkey)]),
            ..StatefulSetSpec::default()
        },
        ..StatefulSet::default()
    }
}

fn claim(valkey: &Valkey) -> PersistentVolumeClaim {
    let storage = &valkey.spec.storage;
    let size = ("storage".to_owned(), Quantity(storage.size.clone()));
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some("data".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: storage.class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([size])),
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}

fn pod_spec(valkey: &str, version: &str) -> PodSpec {
    let mount = |name: &str, path: &str, is_written: bool| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: (!is_written).then_some(true),
        ..VolumeMount::default()
    };
    let container = Container {
        name: "valkey".to_owned(),
        image: Some(image(version)),
        command: Some(vec![
            "sh".to_owned(),
            "/etc/valkey/settings/start.sh".to_owned(),
        ]),
        env: Some(vec![password(valkey, "PASSWORD")]),
        ports: Some(vec![ContainerPort {
            name: Some("valkey".to_owned()),
            container_port: PORT,
            ..ContainerPort::default()
        }]),
        readiness_probe: Some(Probe {
            tcp_socket: Some(TCPSocketAction {
                port: IntOrString::String("valkey".to_owned()),
                ..TCPSocketAction::default()
            }),
            period_seconds: Some(5),
            ..Probe::default()
        }),
        security_context: Some(restricted()),
        volume_mounts: Some(vec![
            mount("data", "/data", true),
            mount("settings", "/etc/valkey/settings", false),
            mount("users", "/etc/valkey/users", false),
        ]),
        ..Container::default()
    };
    PodSpec {
        containers: vec![container],
        automount_service_account_token: Some(false),
        security_context: Some(as_valkey()),
        volumes: Some(vec![
            Volume {
                name: "settings".to_owned(),
                config_map: Some(ConfigMapVolumeSource {
                    name: names::settings(valkey),
                    ..ConfigMapVolumeSource::default()
                }),
                ..Volume::default()
            },
            Volume {
                name: "users".to_owned(),
                secret: Some(SecretVolumeSource {
                    secret_name: Some(names::password_secret(valkey)),
                    ..SecretVolumeSource::default()
                }),
                ..Volume::default()
            },
        ]),
        ..PodSpec::default()
    }
}

pub(crate) fn image(version: &str) -> String {
    format!("docker.io/valkey/valkey:{version}")
}

/// The password that clients use now, as a variable.
pub(crate) fn password(valkey: &str, variable: &str) -> EnvVar {
    EnvVar {
        name: variable.to_owned(),
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: names::password_secret(valkey),
                key: "password".to_owned(),
                optional: None,
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    }
}

/// What the Pod Security Standard `restricted` asks of a container.
pub(crate) fn restricted() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

/// The user of the image `valkey`.
pub(crate) fn as_valkey() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(999),
        fs_group: Some(999),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

/// How long an instance may take to become ready.
pub(crate) const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

const REVISION: &str = "valkey.example.com/revision";
