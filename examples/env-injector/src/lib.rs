//! Sets an environment variable in the Deployments of one application, and looks after its own certificates.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, EnvVar, PodTemplateSpec};
use kubewright::certificates::SharedAuthority;
use kubewright::prelude::*;

/// Defines the program.
pub fn app(_: &mut Needs) -> App {
    program(authority())
}

/// Defines the program with another authority, such as one with shorter lifetimes.
pub fn program(authority: SharedAuthority) -> App {
    App::new("env-injector")
        .version(env!("CARGO_PKG_VERSION"))
        .webhook_configuration_name("env-injector.toversus.dev")
        .webhooks(webhooks())
        .certificates(authority)
        .log_level_from("config-logging")
        .install(install())
}

/// How it is installed.
fn install() -> Install {
    Install::in_namespace("injector")
        .image("kubewright.example/env-injector")
        .replicas(3)
        .service_port(10443)
}

/// The authority that signs the program's certificates: all replicas share it, in a Secret that they create.
pub fn authority() -> SharedAuthority {
    SharedAuthority::in_secret("env-injector-certs").for_service("env-injector")
}

/// The webhook alone, for tests without a program.
pub fn webhooks() -> Webhooks {
    Webhooks::new("toversus.dev").with(
        mutating("env-injector", inject)
            .at("/inject")
            .on([Create, Update])
            .in_namespaces(Selector::not_in(
                "toversus.dev.env-injector.exclude",
                ["true"],
            )),
    )
}

/// Sets `TARGET` in the only container of the application's pods.
async fn inject(change: Change<Deployment>, _: Review) -> Mutated<Deployment> {
    let mut deployment = change.into_object();
    if let Some(container) = target(&mut deployment.spec.template) {
        set(container);
    }
    Ok(deployment)
}

/// The container that gets the variable: the only one of a template with the application's label.
fn target(template: &mut PodTemplateSpec) -> Option<&mut Container> {
    let labels = template.metadata.as_ref()?.labels.as_ref()?;
    if labels.get("app")? != "helloworld-go" {
        return None;
    }
    match &mut template.spec.as_mut()?.containers[..] {
        [container] => Some(container),
        _ => None,
    }
}

fn set(container: &mut Container) {
    let target = EnvVar {
        name: "TARGET".to_owned(),
        value: Some("Sample Injector v1".to_owned()),
        value_from: None,
    };
    let variables = container.env.get_or_insert_default();
    let mut is_there = false;
    // Of several that have the name, the last one holds: all are set.
    for own in variables.iter_mut().filter(|own| own.name == target.name) {
        own.clone_from(&target);
        is_there = true;
    }
    if !is_there {
        variables.push(target);
    }
}
