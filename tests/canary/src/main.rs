//! A program with webhooks and controllers in which as much as possible goes wrong with objects that hold secrets.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kubewright::controller::{Context, Error};
use kubewright::prelude::*;

/// Words that are read live.
type Words = BTreeMap<String, u32>;

/// What a handler does is what the name of the object says.
#[expect(
    clippy::panic,
    reason = "what is logged of it is what the test is about"
)]
async fn judge(change: Change<Secret>, review: Review) -> Validated {
    let secret = change.object();
    match secret.name_any().as_str() {
        "denied" => deny("not this one"),
        "failed" => Err(std::io::Error::other("the database is away").into()),
        "panicked" => panic!("as its name says"),
        "warned" => {
            review.warn("take care");
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn mutate(change: Change<Secret>, _: Review) -> Mutated<Secret> {
    let mut secret = change.into_object();
    secret
        .annotations_mut()
        .insert("seen".to_owned(), "yes".to_owned());
    Ok(secret)
}

struct Copies {
    maps: Writer<ConfigMap>,
    services: Writer<Service>,
    events: Recorder,
}

impl Reconcile<Secret> for Copies {
    #[expect(
        clippy::panic,
        reason = "what is logged of it is what the test is about"
    )]
    async fn reconcile(&self, secret: Arc<Secret>, context: Context) -> Result<Action, Error> {
        let value = secret.data.iter().flatten().next();
        let value = value.map_or(String::new(), |(_, value)| {
            String::from_utf8_lossy(&value.0).into_owned()
        });
        let namespace = secret.namespace();
        match secret.name_any().as_str() {
            "panics" if context.failures() == 0 => panic!("as its name says"),
            "told" => self.events.normal(&*secret, "Seen", "saw it").await?,
            "copied" => {
                let mut map = ConfigMap::default();
                map.metadata.name = Some("copy".to_owned());
                map.metadata.namespace = namespace;
                map.data = Some([("value".to_owned(), value)].into());
                self.maps.create(&map).await?;
            }
            // The API server quotes what it refuses.
            "refused" => {
                let mut service = Service::default();
                service.metadata.name = Some("copy".to_owned());
                service.metadata.namespace = namespace;
                service.spec.get_or_insert_default().external_name = Some(value.clone());
                service.spec.get_or_insert_default().type_ = Some(value);
                self.services.create(&service).await?;
            }
            _ => {}
        }
        Ok(Action::await_change())
    }
}

fn app(needs: &mut Needs) -> App {
    let words: Live<Words> = needs.config_map("words", "words.yaml", Words::new());
    let copies = Copies {
        maps: needs.writer(),
        services: needs.writer(),
        events: needs.recorder(),
    };
    let webhooks = Webhooks::new("canary.example.com")
        .with(mutating("mutate", mutate).on([Create, Update]))
        .with(validating("judge", judge).on([Create, Update]));
    App::new("canary")
        .readiness_check("words", move || words.current().len() < 100)
        .webhooks(webhooks)
        .controller(Controller::new("secrets", copies).concurrency(2))
        .leader_election("canary")
        .log_level_from("config-logging")
}

fn main() -> ExitCode {
    kubewright::run(app)
}
