//! `kubewright certs inject`: what API servers are to trust, written where they look for it.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context as _;
use clap::Args;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, Error};
use kubewright_certificates::TrustBundle;
use serde_json::{Value, json};

use super::runtime::run_with_runtime;
use crate::current::{Became, ClusterFlags};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The objects: validatingwebhookconfiguration/NAME, mutatingwebhookconfiguration/NAME, crd/NAME or apiservice/NAME
    #[arg(required = true, value_name = "KIND/NAME")]
    targets: Vec<Target>,

    /// The file with the CA certificates (PEM)
    #[arg(long, value_name = "FILE", required = true)]
    ca_file: Option<PathBuf>,

    /// Keep the CA certificates that the objects already trust, for a rotation
    #[arg(long)]
    add: bool,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(super) output: Output,
}

/// An object with places for trust.
#[derive(Clone, Debug)]
struct Target {
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Validating,
    Mutating,
    Definition,
    ApiService,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            "it has to be validatingwebhookconfiguration/NAME, mutatingwebhookconfiguration/NAME, crd/NAME or apiservice/NAME"
                .to_owned()
        };
        let (kind, name) = text.split_once('/').ok_or_else(wrong)?;
        let kind = match kind.to_ascii_lowercase().trim_end_matches('s') {
            "validatingwebhookconfiguration" => Kind::Validating,
            "mutatingwebhookconfiguration" => Kind::Mutating,
            "crd" | "customresourcedefinition" => Kind::Definition,
            "apiservice" => Kind::ApiService,
            _ => return Err(wrong()),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        let name = name.to_owned();
        Ok(Self { kind, name })
    }
}

impl Target {
    fn kind(&self) -> GroupVersionKind {
        let webhooks = |kind| GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        match self.kind {
            Kind::Validating => webhooks("ValidatingWebhookConfiguration"),
            Kind::Mutating => webhooks("MutatingWebhookConfiguration"),
            Kind::Definition => {
                GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
            }
            Kind::ApiService => GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService"),
        }
    }

    /// The values that have a `caBundle`.
    fn places<'a>(&self, object: &'a mut Value) -> Vec<&'a mut Value> {
        match self.kind {
            Kind::Validating | Kind::Mutating => {
                let webhooks = object["webhooks"].as_array_mut();
                let webhooks = webhooks.into_iter().flatten();
                webhooks
                    .filter_map(|webhook| webhook.get_mut("clientConfig"))
                    .collect()
            }
            Kind::Definition => {
                let config = object.pointer_mut("/spec/conversion/webhook/clientConfig");
                config.into_iter().collect()
            }
            // Without a Service, it is served by the API server itself.
            Kind::ApiService => {
                let spec = object.get_mut("spec");
                spec.filter(|spec| spec["service"].is_object())
                    .into_iter()
                    .collect()
            }
        }
    }
}

pub(super) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let file = arguments.ca_file.clone().unwrap_or_default();
    let text = std::fs::read(&file);
    let text = text.with_context(|| format!("cannot read {}", file.display()))?;
    let trust = TrustBundle::from_pem(&text).map_err(|error| {
        let error =
            anyhow::Error::from(error).context(format!("{} has nothing to trust", file.display()));
        Failure::from(error)
            .hint("name a file with certificates, such as the ca.crt of `kubewright certs`")
    })?;
    run_with_runtime(async {
        let cluster = arguments.cluster.connect(ui).await?;
        let mut results = Vec::new();
        for target in &arguments.targets {
            let became = inject(cluster.client(), target, &trust, arguments.add).await?;
            let kind = target.kind().kind;
            if arguments.output == Output::Json {
                results.push(json!({"kind": kind, "name": target.name, "became": became.word()}));
            } else {
                ui.line(format!("{kind} {} {}", target.name, became.word()));
            }
        }
        if arguments.output == Output::Json {
            ui.json(&json!(results));
        }
        Ok(())
    })
}

/// Reads, changes and replaces an object; starts again after a conflict with another writer.
async fn inject(
    client: &Client,
    target: &Target,
    trust: &TrustBundle,
    add: bool,
) -> Outcome<Became> {
    let kind = target.kind();
    let called = format!("{} {}", kind.kind, target.name);
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    loop {
        let found = api.get_opt(&target.name).await;
        let found = found.with_context(|| format!("cannot read the {called}"))?;
        let Some(found) = found else {
            return Err(Failure::new(format!("there is no {called}"))
                .hint("apply it first, or look for its name with kubectl get"));
        };
        let before = serde_json::to_value(&found)?;
        let mut after = before.clone();
        let places = target.places(&mut after);
        if places.is_empty() {
            return Err(Failure::new(format!(
                "the {called} has no client configuration for a caBundle"
            ))
            .hint("see that it has a webhook, or a Service"));
        }
        for place in places {
            let bundle = if add {
                beside(trust, &place["caBundle"])?
            } else {
                trust.clone()
            };
            place["caBundle"] = json!(bundle.to_ca_bundle());
        }
        if after == before {
            return Ok(Became::Unchanged);
        }
        let object: DynamicObject = serde_json::from_value(after)?;
        match api
            .replace(&target.name, &PostParams::default(), &object)
            .await
        {
            Ok(_) => return Ok(Became::Changed),
            Err(Error::Api(status)) if status.is_conflict() => {}
            Err(error) => Err(error).with_context(|| format!("cannot change the {called}"))?,
        }
    }
}

/// What is trusted already, and `trust`.
fn beside(trust: &TrustBundle, bundle: &Value) -> Outcome<TrustBundle> {
    use base64::Engine as _;
    let Some(bundle) = bundle.as_str().filter(|bundle| !bundle.is_empty()) else {
        return Ok(trust.clone());
    };
    let known = base64::prelude::BASE64_STANDARD.decode(bundle);
    let known = known.map_err(anyhow::Error::from);
    let known = known.and_then(|text| Ok(TrustBundle::from_pem(text)?));
    let known =
        known.context("cannot read the caBundle that is there; leave --add away to replace it")?;
    Ok(known.and(trust))
}
