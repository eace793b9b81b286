//! What the aggregator of one server keeps: the APIServices, their documents, and the identity of the front proxy.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use kubewright_auth::Authorities;
use kubewright_storage::{At, Store};
use kubewright_webhook_client::ClientCertificate;
use parking_lot::{Mutex, RwLock};

use super::documents::Documents;
use super::registration::{Registration, TABLE};

/// APIServices, in the order of their names.
type Registrations = Arc<Vec<Arc<Registration>>>;

/// The aggregator of one server.
#[derive(Debug)]
pub struct Aggregator {
    authorities: Arc<Authorities>,
    certificate: OnceLock<ClientCertificate>,
    /// Whether an APIService may name a service. Until then no request costs more than this.
    looks: AtomicBool,
    registrations: RwLock<(u64, Registrations)>,
    none: Registrations,
    /// What the servers say of themselves, by the name of the APIService.
    documents: Mutex<HashMap<String, Arc<Documents>>>,
    /// The APIServices whose availability is checked.
    followed: Mutex<HashSet<String>>,
}

impl Aggregator {
    /// An aggregator that shows aggregated API servers the certificate of these authorities.
    pub fn new(authorities: Arc<Authorities>) -> Self {
        Self {
            authorities,
            certificate: OnceLock::new(),
            looks: AtomicBool::new(false),
            registrations: RwLock::default(),
            none: Registrations::default(),
            documents: Mutex::default(),
            followed: Mutex::default(),
        }
    }

    /// Reads the APIServices from now on: those that a server starts with are all its own.
    pub fn look(&self) {
        self.looks.store(true, Ordering::Release);
    }

    /// Whether an APIService may name a service.
    pub(crate) fn looks(&self) -> bool {
        self.looks.load(Ordering::Acquire)
    }

    /// The APIServices of the store as it is now; none as long as all of them are the server's own.
    pub(crate) fn registrations(&self, store: &Store) -> Registrations {
        if !self.looks() {
            return self.none.clone();
        }
        let changed = store.changed(TABLE);
        let known = self.registrations.read();
        if known.0 == changed {
            return known.1.clone();
        }
        drop(known);
        let listed = store.list(TABLE, "", "", usize::MAX, At::Now);
        let objects = listed.map(|listed| listed.objects).unwrap_or_default();
        let mut known = self.registrations.write();
        // A client certificate and a TLS session are kept for an APIService that leads where it led.
        let old = std::mem::take(&mut known.1);
        let read = objects.iter().map(|object| {
            let new = Registration::of(&object.value());
            let same = old.iter().find(|old| {
                old.name == new.name
                    && old.leads_where(&new)
                    && old.is_available == new.is_available
                    && old.group_priority == new.group_priority
                    && old.version_priority == new.version_priority
            });
            same.map_or_else(|| Arc::new(new), Arc::clone)
        });
        *known = (changed, Arc::new(read.collect()));
        known.1.clone()
    }

    /// The APIService that answers a path, if it names a service.
    pub(super) fn route(&self, store: &Store, path: &str) -> Option<Arc<Registration>> {
        let registrations = self.registrations(store);
        let mut remote = registrations.iter().filter(|it| it.service.is_some());
        let first = remote.next()?;
        let document = path.strip_prefix("/openapi/v3");
        let words = document.unwrap_or(path);
        let mut words = words.strip_prefix('/')?.split('/');
        let (group, version) = match words.next()? {
            "api" => ("", words.next()?),
            "apis" => (words.next()?, words.next()?),
            _ => return None,
        };
        let mut remote = std::iter::once(first).chain(remote);
        let found = remote.find(|it| it.group == group && it.version == version)?;
        // Only a document that the server has named is asked for.
        let is_named = |it: &Registration| {
            let documents = self.documents(&it.name);
            documents.is_some_and(|documents| documents.openapi.is_some())
        };
        (document.is_none() || is_named(found)).then(|| found.clone())
    }

    /// The certificate that aggregated API servers know this server by.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn certificate(&self) -> Result<&ClientCertificate, String> {
        if let Some(certificate) = self.certificate.get() {
            return Ok(certificate);
        }
        let front_proxy = self.authorities.front_proxy();
        let client = front_proxy.map_err(|error| error.to_string())?.client();
        let made = ClientCertificate::from_pem(&client.certificate, &client.key);
        let made = made.map_err(|error| error.to_string())?;
        Ok(self.certificate.get_or_init(|| made))
    }

    /// What the server of an APIService says of itself, as far as it is known.
    pub(crate) fn documents(&self, name: &str) -> Option<Arc<Documents>> {
        self.documents.lock().get(name).cloned()
    }

    pub(super) fn keep_documents(&self, name: &str, documents: Documents) {
        let mut all = self.documents.lock();
        all.insert(name.to_owned(), Arc::new(documents));
    }

    /// Notes that an APIService is followed; false if it is already.
    pub(super) fn begin_to_follow(&self, name: &str) -> bool {
        self.followed.lock().insert(name.to_owned())
    }

    /// Returns an APIService that is followed, or forgets it if it no longer names a service.
    pub(super) fn followed(&self, store: &Store, name: &str) -> Option<Arc<Registration>> {
        // Held while the store is read: an APIService that is created anew meanwhile finds the old one forgotten.
        let mut followed = self.followed.lock();
        let registrations = self.registrations(store);
        let found = registrations
            .iter()
            .find(|it| it.name == name && it.service.is_some());
        if found.is_none() {
            followed.remove(name);
            self.documents.lock().remove(name);
        }
        found.cloned()
    }
}
