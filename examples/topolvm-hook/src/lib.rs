//! Tells the scheduler how much TopoLVM storage a pod needs, by a resource of its first container.

mod bytes;
mod lookup;
mod storage;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kubewright::prelude::*;

use storage::{Demand, Storage};

/// Tells the scheduler how much TopoLVM storage a pod needs, by a resource of its first container.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Options {
    /// Say the bytes of each device class in annotations, and count volumes of the provisioner `topolvm.io` too
    #[arg(long)]
    per_device_class: bool,
}

/// Defines the program.
pub fn app(options: Options, needs: &mut Needs) -> App {
    let form = if options.per_device_class {
        Form::PerDeviceClass
    } else {
        Form::Sum
    };
    let hook = Hook {
        storage: Storage::new(needs, form.provisioners()),
        form,
    };
    App::new("topolvm-hook")
        .version(env!("CARGO_PKG_VERSION"))
        .webhook_configuration_name("topolvm-hook")
        .webhooks(
            Webhooks::new("topolvm.cybozu.com").with(
                mutating("hook", hook)
                    .at("/mutate")
                    .on([Create])
                    .match_policy(MatchPolicy::Equivalent)
                    .in_namespaces(judged()),
            ),
        )
        .install(install())
}

/// How it is installed, with a certificate of cert-manager, which clusters with TopoLVM have.
fn install() -> Install {
    Install::in_namespace("topolvm-hook")
        .image("kubewright.example/topolvm-hook")
        .cert_manager()
}

/// The namespaces whose pods are looked at: never those that a cluster needs to come up, nor the program's own.
fn judged() -> Selector {
    Selector::not_in("topolvm.cybozu.com/webhook", ["ignore"]).without(
        "kubernetes.io/metadata.name",
        ["kube-system", "topolvm-hook"],
    )
}

/// How the demand is written into a pod.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// The sum of all bytes, as a resource.
    Sum,
    /// A resource that marks the pod, and an annotation for each device class.
    PerDeviceClass,
}

impl Form {
    fn provisioners(self) -> &'static [&'static str] {
        match self {
            Self::Sum => &["topolvm.cybozu.com"],
            Self::PerDeviceClass => &["topolvm.io", "topolvm.cybozu.com"],
        }
    }

    fn write(self, bytes: &BTreeMap<String, u64>, pod: &mut Pod) {
        match self {
            Self::Sum => {
                let sum = bytes
                    .values()
                    .fold(0, |sum: u64, more| sum.saturating_add(*more));
                request(pod, "topolvm.cybozu.com/capacity", sum);
            }
            Self::PerDeviceClass => {
                request(pod, "topolvm.io/capacity", 1);
                for (class, bytes) in bytes {
                    pod.annotations_mut()
                        .insert(format!("capacity.topolvm.io/{class}"), bytes.to_string());
                }
            }
        }
    }
}

/// Has the first regular container request an amount of a resource, which is also its limit.
fn request(pod: &mut Pod, resource: &str, amount: u64) {
    let containers = pod.spec.iter_mut().flat_map(|spec| &mut spec.containers);
    for container in containers.take(1) {
        let resources = container.resources.get_or_insert_default();
        for list in [&mut resources.requests, &mut resources.limits] {
            let amount = Quantity(amount.to_string());
            list.get_or_insert_default()
                .insert(resource.to_owned(), amount);
        }
    }
}

struct Hook {
    storage: Storage,
    form: Form,
}

impl Mutate<Pod> for Hook {
    async fn mutate(&self, change: Change<Pod>, review: Review) -> Mutated<Pod> {
        let mut pod = change.into_object();
        let spec = pod.spec.as_ref();
        let containers: &[Container] = spec.map_or(&[], |spec| &spec.containers);
        if containers.is_empty() {
            return deny("pod has no containers");
        }
        let volumes = spec
            .and_then(|spec| spec.volumes.as_deref())
            .unwrap_or_default();
        let own = pod
            .metadata
            .namespace
            .as_deref()
            .filter(|own| !own.is_empty());
        let namespace = own.or(review.namespace()).unwrap_or_default();
        if let Demand::Bytes(bytes) = self.storage.needed(namespace, volumes).await?
            && !bytes.is_empty()
        {
            self.form.write(&bytes, &mut pod);
        }
        Ok(pod)
    }
}
