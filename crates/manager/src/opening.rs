//! What happens between a program that is whole and one that serves: its certificates begin.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use kubewright_certificates::{AnySource, Identity, SharedAuthority, SharedSource, Status};
use kubewright_server::{Drain, Readiness, Server, memory_limit};
use tokio::sync::watch;

use crate::background::Background;
use crate::inspection::{Certificate, Shown};
use crate::parts::Panicked;
use crate::serving::Serving;
use crate::tls::Tls;
use crate::traces::Continued;
use crate::trust::{self, EventRecorder, Publishing, TrustStatus, targets};
use crate::{App, StartError};

/// A program that has loaded what it needs and is about to serve.
pub(crate) struct Opening {
    pub(crate) app: App,
    pub(crate) drain: Drain,
    pub(crate) readiness: Readiness,
    pub(crate) background: Background,
    pub(crate) tls: Tls,
    /// Of the authority's rotation, if the program has one of its own.
    pub(crate) status: Option<watch::Receiver<Status>>,
}

impl Opening {
    /// Starts to keep the objects that lead here.
    pub(crate) fn publishing(&mut self, recorder: &EventRecorder) -> Publishing {
        let client = self.background.client().cloned();
        let client = client.expect("a program that publishes has permissions, and so a client");
        let (name, targets) = (self.background.name().clone(), targets(&self.app));
        let parts = self.background.others();
        let publishing = Publishing::start(&client, &name, targets, recorder, parts);
        trust::check(&publishing.status, &self.readiness);
        self.background.metrics().trust(publishing.status.clone());
        let diagnostics = self.background.diagnostics();
        diagnostics.show(|| Shown::Trust(publishing.status.clone()));
        publishing
    }

    /// Starts the rotation of an authority.
    pub(crate) fn rotate(&mut self, authority: &SharedAuthority) -> (SharedSource, TrustStatus) {
        let client = self.background.client().cloned();
        let client = client.expect("a program with an authority has permissions, and so a client");
        let namespace = client.default_namespace().to_owned();
        let program = self.background.name().clone();
        let (recorder, sender) =
            EventRecorder::of(client.clone(), &program, &namespace, authority.secret());
        self.background
            .others()
            .spawn("the recording of Events", sender.run());
        let publishing = self.publishing(&recorder);
        let status = publishing.status.clone();

        let (source, rotation) = authority.connect(client.clone(), &namespace);
        let rotation = rotation.on_event(move |event| recorder.rotation(event));
        self.status = Some(rotation.status());
        let objects =
            publishing.follow_rotation(client, rotation.trust(), self.background.others());
        let rotating = rotation.run(objects);
        self.background
            .others()
            .spawn("the rotation of certificates", rotating);
        (source, status)
    }

    pub(crate) async fn bind(
        mut self,
        listen: SocketAddr,
        certificates: AnySource,
    ) -> Result<Serving, StartError> {
        if let Some(memory) = memory_limit() {
            self.app.hooks().memory_by_default(memory / 8 * 3);
        }
        let server = Server::new(Continued(self.app.hooks().clone()), certificates)
            .readiness(self.readiness.clone())
            .liveness(self.app.liveness());
        let server = self.tls.set_up(server, &self.app);
        let bound = tokio::select! {
            bound = server.listen(listen).drain(self.drain).bind() => bound?,
            Panicked(part) = self.background.others().panicked() => {
                return Err(StartError::Panicked(part));
            }
        };
        let identity = bound.identity();
        self.readiness.check("certificate-renewal", move || {
            has_time_left(&identity.current(), SystemTime::now())
        });
        let diagnostics = self.background.diagnostics();
        diagnostics.show(|| Shown::Server {
            address: bound.local_addr(),
            counters: bound.counters(),
        });
        diagnostics.show(|| {
            Shown::Certificate(Certificate {
                identity: bound.identity(),
                rotation: self.status.clone(),
            })
        });
        let metrics = self.background.metrics();
        metrics.server(bound.counters(), bound.identity(), self.status);
        self.background
            .diagnostics_mut()
            .serve_with(bound.identity());
        Ok(Serving {
            app: self.app,
            background: self.background,
            bound,
        })
    }
}

/// Whether a certificate is valid for long enough that a client that a load balancer sends here now still finds it valid.
fn has_time_left(identity: &Identity, now: SystemTime) -> bool {
    let life = identity.expires().duration_since(identity.not_before());
    let life = life.unwrap_or_default();
    let margin = MARGIN.min(life.checked_sub(BACK_DATED).unwrap_or(life) / 20);
    now + margin < identity.expires()
}

/// So long at most before it expires a replica asks not to be called any more.
const MARGIN: Duration = Duration::from_mins(1);

/// Authorities have their certificates begin an hour before they are made, which is no part of their life.
const BACK_DATED: Duration = Duration::from_hours(1);

#[cfg(test)]
mod tests {
    use kubewright_certificates::Authority;

    use super::*;

    #[test]
    fn a_replica_is_taken_out_before_its_certificate_expires_and_not_after() {
        let authority = Authority::new("a").unwrap();
        let issued = authority.sign_server(["a.example"], Duration::from_hours(9));
        let identity = issued.unwrap().identity().unwrap();
        let end = identity.expires();
        assert!(has_time_left(&identity, end - Duration::from_secs(61)));
        assert!(!has_time_left(&identity, end - Duration::from_mins(1)));
        assert!(!has_time_left(&identity, end + Duration::from_secs(1)));
    }

    #[test]
    fn a_short_life_has_a_short_end() {
        let authority = Authority::new("a").unwrap();
        let issued = authority.sign_server(["a.example"], Duration::from_secs(20));
        let identity = issued.unwrap().identity().unwrap();
        assert!(has_time_left(&identity, SystemTime::now()));
        assert!(has_time_left(
            &identity,
            identity.expires() - Duration::from_secs(2)
        ));
        assert!(!has_time_left(
            &identity,
            identity.expires() - Duration::from_secs(1)
        ));
    }
}
