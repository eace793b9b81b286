//! Injects sidecars into pods, as a configuration file says.

mod sidecars;

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
pub use sidecars::Sidecars;

/// Injects sidecars into pods, as a configuration file says.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The file with `containers:` and `volumes:`; changes take effect without a restart
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/sidecar-injector/sidecarconfig.yaml"
    )]
    config: PathBuf,

    /// Read `sidecarconfig.yaml` of this ConfigMap through the API instead, and the level of the log of `config-logging`
    #[arg(long, value_name = "[NAMESPACE/]NAME", conflicts_with = "config")]
    config_map: Option<String>,
}

/// Defines the program.
pub fn app(options: Options, needs: &mut Needs) -> App {
    let app = App::new("sidecar-injector")
        .version(env!("CARGO_PKG_VERSION"))
        .webhook_configuration_name("sidecar-injector-webhook")
        .install(install());
    let Some(map) = options.config_map else {
        let sidecars = needs.file(options.config, Sidecars::default());
        return app.webhooks(webhooks(sidecars));
    };
    let sidecars = match map.split_once('/') {
        Some((namespace, name)) => {
            needs
                .in_namespace(namespace)
                .config_map(name, KEY, Sidecars::default())
        }
        None => needs.config_map(map, KEY, Sidecars::default()),
    };
    app.webhooks(webhooks(sidecars))
        .log_level_from("config-logging")
}

/// The installation, with a certificate from a Secret that the operator provides, and a ConfigMap with the default configuration,
/// which the operator can change.
fn install() -> Install {
    Install::in_namespace("sidecar-injector")
        .image("kubewright.example/sidecar-injector")
        .certificates_in_secret("sidecar-injector-certificates")
        .files("/etc/sidecar-injector", [(KEY, SIDECARS)])
}

/// The webhook alone, for tests without a program.
pub fn webhooks(sidecars: Live<Sidecars>) -> Webhooks {
    // The original's label, and the one of the article about it. A selector joins labels by AND, so each has a hook.
    let original = Selector::label("sidecar-injection", "enabled");
    let article = Selector::label("sidecar-injector", "enabled");
    Webhooks::new("morven.me")
        .with(hook("sidecar-injector", sidecars.clone(), original).at("/inject"))
        .with(
            hook(
                "sidecar-injector-enabled",
                sidecars,
                article.without("sidecar-injection", ["enabled"]),
            )
            .at("/inject/enabled"),
        )
}

/// Creation only: a pod cannot gain containers later, so a rule for updates would deny every later change of the pods that run
/// already.
fn hook(name: &str, sidecars: Live<Sidecars>, namespaces: Selector) -> Hook {
    mutating(name, Injector { sidecars })
        .on([Create])
        .in_namespaces(namespaces)
}

/// Adds what the configuration says to the pods that do not decline.
struct Injector {
    sidecars: Live<Sidecars>,
}

impl Mutate<Pod> for Injector {
    async fn mutate(&self, change: Change<Pod>, review: Review) -> Mutated<Pod> {
        let mut pod = change.into_object();
        if is_system(review.namespace()) || was_injected(&pod) || declines(&pod) {
            return Ok(pod);
        }
        for name in self.sidecars.current().inject(&mut pod) {
            review.warn(format_args!(
                "the pod has its own `{name}`: the sidecar's is left out"
            ));
        }
        pod.annotations_mut()
            .insert(STATUS.to_owned(), "injected".to_owned());
        Ok(pod)
    }
}

fn is_system(namespace: Option<&str>) -> bool {
    matches!(namespace, Some("kube-system" | "kube-public"))
}

fn was_injected(pod: &Pod) -> bool {
    annotation(pod, STATUS).is_some_and(|status| status == "injected")
}

fn declines(pod: &Pod) -> bool {
    let no = ["n", "no", "not", "false", "off"];
    annotation(pod, INJECT).is_some_and(|answer| no.contains(&answer.as_str()))
}

fn annotation(pod: &Pod, key: &str) -> Option<String> {
    pod.annotations().get(key).map(|value| value.to_lowercase())
}

/// The default configuration, which the installed ConfigMap contains.
const SIDECARS: &str = include_str!("sidecarconfig.yaml");
const KEY: &str = "sidecarconfig.yaml";
const INJECT: &str = "sidecar-injector-webhook.morven.me/inject";
const STATUS: &str = "sidecar-injector-webhook.morven.me/status";
