//! The server of the webhooks, its certificate, and the trust in it.

use std::net::SocketAddr;

use kubewright_certificates::{Phase, Status};
use kubewright_server::{Counters, LiveIdentity};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Inspection, shown, time};
use crate::trust::TrustStatus;

/// The certificate of a server, and the rotation of the authority that signs it, if that is the program's own.
pub(crate) struct Certificate {
    pub(crate) identity: LiveIdentity,
    pub(crate) rotation: Option<watch::Receiver<Status>>,
}

impl Inspection {
    pub(super) fn server(&self, address: SocketAddr, counters: Counters) {
        self.section("server", move |_| {
            let counts = counters.read();
            json!({
                "address": address.to_string(),
                "connections": counts.connections_open,
                "callsInFlight": counts.calls_in_flight,
                "calls": counts.calls,
                "callsRefused": counts.calls_refused,
                "clientsRefused": counts.clients_refused,
                "handshakesFailed": counts.handshakes_failed,
                "panics": counts.panics,
            })
        });
    }

    pub(super) fn certificate(&self, certificate: Certificate) {
        let Certificate { identity, rotation } = certificate;
        self.section("certificate", move |_| {
            let current = identity.current();
            let rotation = rotation.as_ref().map(|status| rotated(&status.borrow()));
            json!({
                "serialNumber": current.serial_number(),
                "notBefore": time(current.not_before()),
                "notAfter": time(current.expires()),
                "trustedCAs": current.trust().certificates().len(),
                "rotation": rotation,
            })
        });
    }

    pub(super) fn trust(&self, status: TrustStatus) {
        self.section("caBundles", move |_| {
            let conditions = status.conditions();
            let conditions = conditions.iter().map(|condition| {
                json!({
                    "object": condition.object,
                    "inSync": condition.is_in_sync,
                    "writes": condition.writes,
                })
            });
            conditions.collect()
        });
    }
}

fn rotated(status: &Status) -> Value {
    json!({
        "phase": status.phase.map(Phase::as_str),
        "generation": status.generation,
        "authorityNotAfter": status.authority_expires.and_then(time),
        "trouble": status.trouble.as_deref().map(shown),
    })
}
