//! A version of a program that runs beside an embedded API server, and is asked for its decisions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::client::Body;
use kube::{Api, Client, Config};
use kubewright_apiserver::admission::{AdmissionRequest, DetachedWebhooks, Operation};
use kubewright_apiserver::{ApiServer, Controllers};
use kubewright_testing::Recording;
use serde_json::{Value, json};

use super::answer::Answer;
use super::event::ObjectReference;
use super::request::Role;
use crate::cluster::listen;
use crate::dev::program::{Asked, Program};
use crate::dev::running::Running;
use crate::dev::stage::Stage;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// A running version of a program.
pub(crate) struct Version {
    label: String,
    server: ApiServer,
    admin: Client,
    running: Running,
    client: Client,
    hooks: Vec<Hook>,
    mutating: Vec<DetachedWebhooks>,
    validating: Vec<DetachedWebhooks>,
    /// With the certificate that the program serves with.
    _stage: Stage,
}

/// A webhook of the program, as its configuration declares it.
#[derive(Debug)]
pub(crate) struct Hook {
    name: String,
    path: String,
    role: Role,
    webhook: Value,
}

impl Version {
    /// Starts a program that was built.
    pub(crate) async fn start(
        ui: &Arc<Ui>,
        label: String,
        program: &Program,
        options: &[String],
    ) -> Outcome<Self> {
        let step = ui.step(&format!("starting {label}"));
        let server = ApiServer::builder()
            .controllers(Controllers::all())
            .rbac()
            .start();
        let listening = listen(&server, 0).await?;
        let admin = Client::new(server.service(), "default");
        let asked = Asked {
            options,
            record: None,
        };
        let mut stage = Stage::beside(admin.clone(), listening)?;
        stage.prepare(program, options).await?;
        let running = stage.start(ui, program, asked).await?;
        let client = client(&running, &stage, &label)?;
        let configurations = stage.called(program, &running, options).await?;
        let of_kind = |kind: &str| {
            let all = configurations.iter();
            all.filter(|object| object["kind"] == kind)
                .collect::<Vec<_>>()
        };
        let mutating = of_kind("MutatingWebhookConfiguration");
        let validating = of_kind("ValidatingWebhookConfiguration");
        let mut hooks = Vec::new();
        for (role, configurations) in [(Role::Mutating, &mutating), (Role::Validating, &validating)]
        {
            for webhook in configurations
                .iter()
                .flat_map(|configuration| webhooks(configuration))
            {
                hooks.push(Hook::of(role, webhook));
            }
        }
        step.done(&format!("{label} serves"));
        Ok(Self {
            mutating: mutating.into_iter().map(DetachedWebhooks::new).collect(),
            validating: validating.into_iter().map(DetachedWebhooks::new).collect(),
            label,
            server,
            admin,
            running,
            client,
            hooks,
            _stage: stage,
        })
    }

    /// The name of the version, for people.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// The webhooks.
    pub(crate) fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// The webhooks of this role that the API server would send the request, each with the AdmissionReview. The inner error is the message
    /// that the client would get instead.
    ///
    /// # Errors
    /// The embedded API server does not have the resource.
    pub(crate) async fn reviews(
        &self,
        role: Role,
        request: &AdmissionRequest,
    ) -> Result<BTreeMap<String, Result<String, String>>, String> {
        let configurations = match role {
            Role::Mutating => &self.mutating,
            Role::Validating => &self.validating,
        };
        let mut all = BTreeMap::new();
        for configuration in configurations {
            let reviews = self.server.webhook_reviews(configuration, request).await;
            for review in reviews.map_err(|error| error.to_string())? {
                let text = review
                    .review
                    .map(|review| String::from_utf8_lossy(&review).into_owned());
                all.insert(review.webhook, text);
            }
        }
        Ok(all)
    }

    /// Asks a webhook for its decision on a review.
    pub(crate) async fn decide(&self, webhook: &str, review: &str) -> Outcome<Answer> {
        let Some(hook) = self.hooks.iter().find(|hook| hook.name == webhook) else {
            return Ok(Answer::not_called());
        };
        let recording = Recording::of(&hook.path, webhook, review, None);
        let recording = recording.context("the review is not JSON")?;
        let seconds = hook.webhook["timeoutSeconds"].as_u64().unwrap_or(10);
        let (code, body) = self.ask(&hook.path, seconds, review.to_owned()).await?;
        let read = Answer::read(&recording, code, &body);
        let (answer, _) = read.with_context(|| self.not_json())?;
        Ok(answer)
    }

    /// Asks the hook at the path of a recorded review, and returns the review with the answer, too.
    pub(crate) async fn decide_recorded(
        &self,
        recording: &Recording,
    ) -> Outcome<(Answer, Recording)> {
        let review = recording.review().to_string();
        let (code, body) = self.ask(recording.path(), 10, review).await?;
        let read = Answer::read(recording, code, &body);
        Ok(read.with_context(|| self.not_json())?)
    }

    fn not_json(&self) -> String {
        format!("the answer of {} is not JSON", self.label)
    }

    async fn ask(
        &self,
        path: &str,
        seconds: u64,
        review: String,
    ) -> Outcome<(StatusCode, Vec<u8>)> {
        let request = Request::post(format!("{path}?timeout={seconds}s&mode=enforce"))
            .header("content-type", "application/json")
            .body(Body::from(review.into_bytes()))
            .with_context(|| format!("cannot ask at {path}"))?;
        let answer = self.client.send(request).await;
        let answer = answer.with_context(|| format!("{} does not answer", self.label))?;
        let (head, body) = answer.into_parts();
        let body = body.collect_bytes().await;
        let body = body.with_context(|| format!("the answer of {} breaks off", self.label))?;
        Ok((head.status, body.to_vec()))
    }

    /// Makes a namespace with these labels, or gives it these labels.
    pub(crate) async fn set_namespace(&self, name: &str, labels: &Value) -> Outcome {
        let namespaces: Api<Namespace> = Api::all(self.admin.clone());
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
        });
        let namespace = serde_json::from_value(namespace).context("the labels of a namespace")?;
        let parameters = PostParams::default();
        let exists = namespaces.get_metadata_opt(name).await?.is_some();
        let written = if exists {
            namespaces.replace(name, &parameters, &namespace).await
        } else {
            namespaces.create(&parameters, &namespace).await
        };
        written.with_context(|| format!("cannot make the namespace {name}"))?;
        Ok(())
    }

    /// Ends the program.
    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }
}

impl Hook {
    fn of(role: Role, webhook: &Value) -> Self {
        let url = webhook["clientConfig"]["url"].as_str().unwrap_or_default();
        let path = url.parse::<http::Uri>();
        let path = path.map_or_else(|_| String::new(), |url| url.path().to_owned());
        Self {
            name: webhook["name"].as_str().unwrap_or_default().to_owned(),
            path,
            role,
            webhook: webhook.clone(),
        }
    }

    /// Whether its rules may match requests for a resource, whatever the version and the objects.
    pub(crate) fn concerns(&self, operation: Operation, place: &ObjectReference) -> bool {
        let has = |list: &Value, word: &str| {
            let list = list.as_array().into_iter().flatten();
            let mut words = list.filter_map(Value::as_str);
            words.any(|entry| entry == "*" || entry == word)
        };
        let is_resource = |entry: &str| {
            let (resource, subresource) = entry.split_once('/').unwrap_or((entry, ""));
            (resource == "*" || resource == place.resource)
                && (subresource == "*" || subresource == place.subresource)
        };
        // Objects of some groups of Kubernetes are those of others, too; those of custom resources are not.
        let is_of_kubernetes =
            !place.api_group.contains('.') || place.api_group.ends_with(".k8s.io");
        let any_group = self.webhook["matchPolicy"] != "Exact" && is_of_kubernetes;
        let rules = self.webhook["rules"].as_array().into_iter().flatten();
        rules.into_iter().any(|rule| {
            let resources = rule["resources"].as_array().into_iter().flatten();
            let mut resources = resources.filter_map(Value::as_str);
            let is_group = has(&rule["apiGroups"], &place.api_group);
            has(&rule["operations"], operation.as_str())
                && (is_group || any_group)
                && resources
                    .any(|entry| is_resource(entry) && (is_group || !entry.starts_with('*')))
        })
    }

    /// Whether its rules name a resource, apart from sub-resources: objects of others need not be remembered.
    pub(crate) fn looks_at(&self, place: &ObjectReference) -> bool {
        let rules = self.webhook["rules"].as_array().into_iter().flatten();
        let entries = rules.flat_map(|rule| rule["resources"].as_array().into_iter().flatten());
        let mut resources = entries
            .filter_map(Value::as_str)
            .map(|entry| entry.split('/').next().unwrap_or(entry));
        resources.any(|resource| resource == "*" || resource == place.resource)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    /// Whether it selects namespaces by more than their name.
    pub(crate) fn reads_namespace_labels(&self) -> bool {
        let selector = &self.webhook["namespaceSelector"];
        let labels = selector["matchLabels"].as_object().into_iter().flatten();
        let expressions = selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten();
        let mut keys = labels
            .map(|(key, _)| key.as_str())
            .chain(expressions.filter_map(|expression| expression["key"].as_str()));
        keys.any(|key| key != NAME_LABEL)
    }

    /// Whether its match conditions ask what a user may do.
    pub(crate) fn reads_permissions(&self) -> bool {
        let conditions = self.webhook["matchConditions"]
            .as_array()
            .into_iter()
            .flatten();
        let mut expressions = conditions.filter_map(|condition| condition["expression"].as_str());
        expressions.any(|expression| expression.contains("authorizer"))
    }
}

/// The label that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

fn webhooks(configuration: &Value) -> impl Iterator<Item = &Value> {
    configuration["webhooks"].as_array().into_iter().flatten()
}

/// A client of the program's webhooks.
fn client(running: &Running, stage: &Stage, label: &str) -> Outcome<Client> {
    let Some(address) = running.address() else {
        let text = format!("{label} has no webhooks, so it cannot be asked anything");
        return Err(Failure::new(text));
    };
    let url = format!("https://{address}").parse();
    let mut config = Config::new(url.context("cannot name the address of the program")?);
    let roots = stage.trust().certificates().iter();
    config.root_cert = Some(roots.map(|root| root.to_vec()).collect());
    Ok(Client::try_from(config).context("cannot make a client of the program")?)
}

/// The name of a version for people: its folder.
pub(crate) fn label(program: &Program, folder: &Path) -> String {
    format!("{} of {}", program.name(), folder.display())
}
