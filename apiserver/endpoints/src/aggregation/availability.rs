//! The controller of the condition `Available`: checks each service when something about it changes, and every half
//! minute.

use std::sync::{Arc, Weak};

use kubewright_apimachinery::go_text::quoted;
use kubewright_webhook_client::{ServicePort, ServiceTls};
use tokio::time::{Duration, sleep, timeout};

use super::changes::Changes;
use super::condition::{Available, lack, write, write_local};
use super::documents::{Documents, Server};
use super::registration::Registration;
use crate::rest::shared::Shared;

/// How long a service may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a service is checked of which nothing changes, and one that never answers.
const AGAIN: Duration = Duration::from_secs(30);
/// How soon a service is checked again that did not answer; the time doubles.
const SOON: Duration = Duration::from_millis(5);

/// The APIService that answers a path, if it names a service.
///
/// # Panics
/// There is no tokio runtime.
pub(crate) fn route(shared: &Arc<Shared>, path: &str) -> Option<Arc<Registration>> {
    if !shared.aggregator.looks() {
        return None;
    }
    // Another server of the cluster may have written an APIService.
    settle(shared);
    shared.aggregator.route(&shared.store, path)
}

/// Checks the services of all APIServices from now on, each for itself.
///
/// # Panics
/// There is no tokio runtime.
pub(crate) fn settle(shared: &Arc<Shared>) {
    let aggregator = &shared.aggregator;
    for registration in &*aggregator.registrations(&shared.store) {
        if registration.service.is_some() && aggregator.begin_to_follow(&registration.name) {
            tokio::spawn(follow(Arc::downgrade(shared), registration.name.clone()));
        }
    }
}

/// Follows an APIService until it no longer names a service, or the server is gone.
async fn follow(shared: Weak<Shared>, name: String) {
    let Some(mut stopped) = shared.upgrade().map(|shared| shared.stopped.subscribe()) else {
        return;
    };
    let over = async { stopped.wait_for(|stopped| *stopped).await.is_ok() };
    let followed = async {
        let mut failures = 0;
        loop {
            let Some(strong) = shared.upgrade() else {
                return;
            };
            let Some(registration) = strong.aggregator.followed(&strong.store, &name) else {
                return write_local(&strong, &name);
            };
            let mut changes = Changes::of(&strong, &registration);
            let available = check(&strong, &registration).await;
            drop(strong);
            failures = match available.reason {
                "FailedDiscoveryCheck" => failures + 1,
                _ => 0,
            };
            let wait = match failures {
                1..16 => AGAIN.min(SOON * 2_u32.pow(failures - 1)),
                _ => AGAIN,
            };
            tokio::select! {
                () = changes.next() => {}
                () = sleep(wait) => {}
            }
        }
    };
    tokio::select! {
        () = followed => {}
        _ = over => {}
    }
}

/// Checks a service, reads its documents, and writes the condition. Once it says that the service is available, discovery
/// has the resources.
async fn check(shared: &Shared, registration: &Registration) -> Available {
    let available = match &registration.service {
        None => return Available::passed(),
        Some(service) => match lack(shared, service) {
            Some(lack) => lack,
            None => match probe(shared, registration, service).await {
                Ok(()) => Available::passed(),
                Err(why) => Available::failed(why),
            },
        },
    };
    let aggregator = &shared.aggregator;
    let read = if available.is_true {
        let read = timeout(PATIENCE, documents(shared, registration)).await;
        read.unwrap_or_else(|_| Err("request timed out".to_owned()))
    } else {
        Err(available.message.clone())
    };
    let documents = read.unwrap_or_else(|error| {
        tracing::debug!(
            name = registration.name,
            error,
            "discovery of an APIService is stale"
        );
        let known = aggregator.documents(&registration.name);
        Documents {
            are_current: false,
            ..known.as_deref().cloned().unwrap_or_default()
        }
    });
    aggregator.keep_documents(&registration.name, documents);
    write(shared, registration, &available);
    available
}

/// Asks for the discovery document, and does not check the certificate of the server: requests of users do.
async fn probe(
    shared: &Shared,
    registration: &Registration,
    service: &ServicePort,
) -> Result<(), String> {
    let located = shared.reach().locate(service)?;
    let path = registration.path();
    let url = format!("https://{}{path}", located.authority());
    let tls = ServiceTls::insecure(shared.aggregator.certificate()?);
    let server = Server {
        reach: shared.reach(),
        located: &located,
        tls: &tls,
    };
    let shown = quoted(&url);
    let answer = match timeout(PATIENCE, server.get(&path, "application/json")).await {
        Ok(Ok(answer)) if answer.status().is_success() => return Ok(()),
        Ok(Ok(answer)) => format!("bad status from {url}: {}", answer.status().as_u16()),
        Ok(Err(why)) => format!("Get {shown}: {why}"),
        Err(_) => format!(
            "Get {shown}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        ),
    };
    Err(format!("failing or missing response from {url}: {answer}"))
}

async fn documents(shared: &Shared, registration: &Registration) -> Result<Documents, String> {
    let service = registration.service.as_ref();
    let service = service.ok_or("the version is served by this server")?;
    let located = shared.reach().locate(service)?;
    let certificate = shared.aggregator.certificate()?;
    let tls = registration.tls(certificate)?;
    let server = Server {
        reach: shared.reach(),
        located: &located,
        tls,
    };
    server.documents(registration).await
}
