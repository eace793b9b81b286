//! What an instance needs to start and to be found: its configuration, Services and a disruption budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright::controller::{Context, Error, Scope};
use kubewright::prelude::*;

use crate::api::v1::Valkey;
use crate::names;

pub(crate) struct Settings {
    maps: CreateOrUpdate<ConfigMap>,
    services: CreateOrUpdate<Service>,
    budgets: CreateOrUpdate<PodDisruptionBudget>,
}

impl Settings {
    pub(crate) fn new(needs: &mut Needs, own: &Scope) -> Self {
        Self {
            maps: needs.within(own.clone()).create_or_update(),
            services: needs.within(own.clone()).create_or_update(),
            budgets: needs.within(own.clone()).create_or_update(),
        }
    }

    pub(crate) async fn keep(&self, valkey: &Arc<Valkey>, cx: &Context) -> Result<(), Error> {
        let name = valkey.name_any();
        cx.create_or_update(&self.maps, start(&name)).await?;
        cx.create_or_update(&self.services, instances(&name))
            .await?;
        cx.create_or_update(&self.services, primary(&name)).await?;
        cx.create_or_update(&self.budgets, budget(&name)).await?;
        Ok(())
    }
}

/// The instance with the number 0 is the primary, and the others copy it.
fn start(valkey: &str) -> ConfigMap {
    let service = names::instance_service(valkey);
    let script = format!(
        "set -- --dir /data --aclfile /etc/valkey/users/users.acl --primaryauth \"$PASSWORD\"\n\
         case $HOSTNAME in\n\
         *-0) exec valkey-server \"$@\" ;;\n\
         *) exec valkey-server \"$@\" --replicaof {valkey}-0.{service} {PORT} ;;\n\
         esac\n"
    );
    ConfigMap {
        metadata: names::metadata(names::settings(valkey), valkey, "settings"),
        data: Some(BTreeMap::from([("start.sh".to_owned(), script)])),
        ..ConfigMap::default()
    }
}

/// Gives each instance a name, before it is ready: replicas have to find the primary.
fn instances(valkey: &str) -> Service {
    let mut service = service(names::instance_service(valkey), valkey);
    if let Some(spec) = &mut service.spec {
        spec.cluster_ip = Some("None".to_owned());
        spec.publish_not_ready_addresses = Some(true);
    }
    service
}

/// Leads clients to the primary.
fn primary(valkey: &str) -> Service {
    let mut service = service(valkey.to_owned(), valkey);
    let selector = service
        .spec
        .as_mut()
        .and_then(|spec| spec.selector.as_mut());
    if let Some(selector) = selector {
        selector.insert(
            "statefulset.kubernetes.io/pod-name".to_owned(),
            format!("{valkey}-0"),
        );
    }
    service
}

fn service(name: String, valkey: &str) -> Service {
    let port = ServicePort {
        name: Some("valkey".to_owned()),
        port: PORT,
        target_port: Some(IntOrString::String("valkey".to_owned())),
        ..ServicePort::default()
    };
    Service {
        metadata: names::metadata(name, valkey, "service"),
        spec: Some(ServiceSpec {
            selector: names::instances(valkey).match_labels,
            ports: Some(vec![port]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

fn budget(valkey: &str) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: names::metadata(valkey.to_owned(), valkey, "budget"),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(names::instances(valkey)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

pub(crate) const PORT: i32 = 6379;
