//! Cluster IPs and node ports of services: allocated with the write, released if it fails; and the IPAddress objects of the
//! allocated addresses.

use std::net::Ipv4Addr;

use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time::now;
use kubewright_fieldmanagement as managed_fields;
use kubewright_registry::services::{self, Pool, Refused, allocate};
use kubewright_storage::{At, Draft};
use parking_lot::Mutex;
use serde_json::{Value, json};
use uuid::Uuid;

use super::call::Call;

/// The allocation of a service. Unless [`Allocation::keep`] is called, dropping it returns the allocation to the pool.
#[derive(Debug)]
pub(crate) struct Allocation<'a> {
    pool: &'a Mutex<Pool>,
    /// Returned to the pool on drop: the allocation until the service is written, then what the service no longer has.
    returned: Pool,
    no_longer_had: Pool,
    had: Vec<Ipv4Addr>,
}

impl<'a> Allocation<'a> {
    /// Allocates the addresses and ports that a service needs; returns `None` for other kinds.
    ///
    /// # Errors
    /// An address or a port cannot be allocated.
    pub(crate) fn take(
        call: &'a Call,
        new: &mut Value,
        old: Option<&Value>,
    ) -> Result<Option<Self>> {
        if !is_about_services(call) || !call.path.subresource.is_empty() {
            return Ok(None);
        }
        if old.is_none() {
            services::normalize_addresses(new, None);
        }
        let store = &call.shared.store;
        let of_others = if store.is_shared() {
            let listed = store.list("services", "", "", usize::MAX, At::Now);
            listed.map(|listed| listed.objects).unwrap_or_default()
        } else {
            Vec::new()
        };
        let mut pool = call.shared.addresses.lock();
        for service in of_others {
            pool.adopt(&service.value());
        }
        // A failed allocation may be partial: only a complete one is taken over.
        let mut tried = pool.clone();
        allocate(new, old, &mut tried).map_err(|refused| match refused {
            Refused::Invalid(errors) => call.invalid_object(new, &errors),
            Refused::Internal(why) => Status::internal(&why),
            Refused::Plain(why) => Status::plain(why),
        })?;
        let (taken, no_longer_had) = pool.take_over(&tried);
        drop(pool);
        Ok(Some(Self {
            pool: &call.shared.addresses,
            returned: taken,
            no_longer_had,
            had: old.map_or_else(Vec::new, services::addresses),
        }))
    }

    /// Keeps the allocation: the service is written.
    pub(crate) fn keep(mut self, call: &Call, service: &Value) {
        self.returned = std::mem::take(&mut self.no_longer_had);
        let had = std::mem::take(&mut self.had);
        let has = services::addresses(service);
        for address in had.iter().filter(|address| !has.contains(address)) {
            strike(call, *address);
        }
        for address in has.into_iter().filter(|address| !had.contains(address)) {
            enter(call, address, service);
        }
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        self.pool.lock().give_back(&self.returned);
    }
}

/// Releases the addresses and ports of a deleted object, also if an update of its status completed the deletion.
pub(crate) fn release(call: &Call, object: &Value) {
    if is_about_services(call) {
        call.shared.addresses.lock().release(object);
        for address in services::addresses(object) {
            strike(call, address);
        }
    }
}

const IP_ADDRESSES: &str = "ipaddresses.networking.k8s.io";

/// Creates the IPAddress object of a service's address. An existing object, which a user has created, stays.
fn enter(call: &Call, address: Ipv4Addr, service: &Value) {
    let name = address.to_string();
    let object = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": name,
            "uid": Uuid::new_v4().to_string(),
            "creationTimestamp": now(),
            "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
            "managedFields": managed_fields::created_by_server("networking.k8s.io/v1", &json!({
                "f:metadata": {"f:labels": {
                    ".": {},
                    "f:ipaddress.kubernetes.io/ip-family": {},
                    "f:ipaddress.kubernetes.io/managed-by": {},
                }},
                "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
            })),
        },
        "spec": {"parentRef": {
            "resource": "services",
            "namespace": meta_text(service, "namespace"),
            "name": meta_text(service, "name"),
        }},
    });
    let store = &call.shared.store;
    drop(store.create(IP_ADDRESSES, &name, Draft::new(&object)));
}

/// Deletes the IPAddress object that [`enter`] created.
fn strike(call: &Call, address: Ipv4Addr) {
    let (store, name) = (&call.shared.store, address.to_string());
    if let Some(object) = store.get(IP_ADDRESSES, &name) {
        let last = Draft::new(&object.value());
        drop(store.delete(IP_ADDRESSES, &name, object.revision, last));
    }
}

fn is_about_services(call: &Call) -> bool {
    call.resource.group.is_empty() && call.resource.plural == "services"
}
