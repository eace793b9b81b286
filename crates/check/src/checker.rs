//! Applies manifests to an embedded API server, and collects what it says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::Range;

use http::{HeaderName, HeaderValue};
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::{ApiServer, KubernetesVersion, Snapshot};
use serde_json::{Map, Value};

use crate::blame;
use crate::client_side;
use crate::cluster::{self, Answer, Cluster, Write};
use crate::finding::{Finding, Lines, Location, ObjectReference, Related, Severity};
use crate::manifest::{self, Manifest, NoObject, NotObject};
use crate::order::rank;
use crate::places::Places;
use crate::sentence::{self, Sentence};
use crate::source::{Role, Source, Unreadable};
use crate::suggestion;

/// What to do about a template.
const TEMPLATE: &str = "if this is a template of a chart, check what it renders: helm template CHART | kubewright check -";

/// What is checked, and against which cluster.
#[derive(Debug)]
#[must_use]
pub struct Checker {
    version: KubernetesVersion,
    namespace: String,
    user: Option<String>,
    groups: Vec<String>,
    ignore_missing_definitions: bool,
    quota: bool,
    state: Option<Snapshot>,
    server: Option<ApiServer>,
    sources: Vec<(Source, Role)>,
    unreadable: Vec<Unreadable>,
}

/// What a check found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The findings, in the order of their sources and positions.
    pub findings: Vec<Finding>,
    /// The objects that were checked.
    pub checked: Vec<Checked>,
    /// The number of objects that were left out, since no definition of their kind is known.
    pub ignored: usize,
    /// The sources, for excerpts.
    pub sources: Vec<Source>,
}

/// An object that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// The name of its source.
    pub source: String,
    /// The object.
    pub object: ObjectReference,
    /// The object as the manifest has it, with its namespace.
    pub manifest: Value,
    /// What came of it.
    pub outcome: Outcome,
    /// The warnings of the API server, as kubectl prints them.
    pub warnings: Vec<String>,
}

/// What came of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an object is accepted, refused or of an unknown kind"
)]
pub enum Outcome {
    /// The API server accepts it: the object as it would be stored.
    Accepted(Value),
    /// The API server refuses it: the `Status` of the answer.
    Refused(Value),
    /// No definition of its kind is known.
    NoDefinition,
}

impl Outcome {
    /// The object as the cluster would store it, if it accepts it.
    #[must_use]
    pub fn accepted(&self) -> Option<&Value> {
        match self {
            Self::Accepted(stored) => Some(stored),
            Self::Refused(_) | Self::NoDefinition => None,
        }
    }
}

impl Report {
    /// The number of findings of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        let of_it = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of_it).count()
    }
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// A check against a new cluster of the newest Kubernetes.
    pub fn new() -> Self {
        Self {
            version: KubernetesVersion::default(),
            namespace: "default".to_owned(),
            user: None,
            groups: Vec::new(),
            ignore_missing_definitions: false,
            quota: false,
            state: None,
            server: None,
            sources: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Checks against this version of Kubernetes.
    pub fn kubernetes(mut self, version: KubernetesVersion) -> Self {
        self.version = version;
        self
    }

    /// Puts objects that name no namespace into this one. The default is `default`.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Applies the objects as this user and these groups, whom policies see. The default is an administrator.
    pub fn user(mut self, user: impl Into<String>, groups: Vec<String>) -> Self {
        self.user = Some(user.into());
        self.groups = groups;
        self
    }

    /// Leaves out objects of kinds that no definition is known of, rather than reporting them.
    pub fn ignore_missing_definitions(mut self) -> Self {
        self.ignore_missing_definitions = true;
        self
    }

    /// Counts what the objects take together of ResourceQuotas, those among the manifests and those of the cluster's state: each object is
    /// kept, and so are the pods of Deployments, ReplicaSets, ReplicationControllers, StatefulSets and Jobs, at most 1,000 of each. By
    /// default each object is counted alone, as by `kubectl apply --dry-run=server`.
    pub fn quota(mut self) -> Self {
        self.quota = true;
        self
    }

    /// Checks against a cluster with these objects, such as [`import`](kubewright_apiserver::import) reads of `kubectl get -A -o json`:
    /// what exists is updated, and what must not change is noticed.
    pub fn cluster_state(mut self, state: Snapshot) -> Self {
        self.state = Some(state);
        self
    }

    /// Checks against this server, with what it has and calls, in place of a new one. Its version is its own. It is not stopped.
    pub fn server(mut self, server: ApiServer) -> Self {
        self.server = Some(server);
        self
    }

    /// Adds a source; or one that cannot be read, which is a finding.
    pub fn source(mut self, source: Result<Source, Unreadable>, role: Role) -> Self {
        match source {
            Ok(source) => self.sources.push((source, role)),
            Err(unreadable) => self.unreadable.push(unreadable),
        }
        self
    }

    /// Applies everything, and returns what was found.
    ///
    /// # Errors
    /// The name of the user cannot be sent.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn run(mut self) -> io::Result<Report> {
        let server = self.server.take();
        let own = server.is_none();
        let server = server.unwrap_or_else(|| {
            let builder = ApiServer::builder()
                .emulated_version(self.version)
                .enable_admission_plugins([AdmissionPlugin::ServiceAccount]);
            match self.state.take() {
                Some(state) => builder.snapshot(state).start(),
                None => builder.start(),
            }
        });
        let mut cluster = Cluster::new(server, self.headers()?);
        let mut run = Run {
            lines: self
                .sources
                .iter()
                .map(|(source, _)| Lines::of(&source.text))
                .collect(),
            sources: &self.sources,
            places: BTreeMap::new(),
            policies: Vec::new(),
            findings: Vec::new(),
            of_object: Vec::new(),
            repeated_names: HashSet::new(),
            kept: HashMap::new(),
        };
        for unreadable in &self.unreadable {
            run.unreadable(unreadable);
        }
        let mut manifests = Vec::new();
        for (number, (source, _)) in self.sources.iter().enumerate() {
            let (objects, others) = manifest::read(number, source);
            let mut documents: Vec<&Range<usize>> =
                objects.iter().map(|object| &object.document).collect();
            documents.dedup();
            for document in documents {
                run.repeated_keys(number, document);
            }
            manifests.extend(objects);
            for other in &others {
                run.no_object(number, other);
            }
        }
        let is_policy = |manifest: &&Manifest| manifest.kind().ends_with("AdmissionPolicy");
        run.policies = manifests.iter().filter(is_policy).cloned().collect();
        let (checked, ignored) = self.apply(&mut run, &mut cluster, manifests, own).await;
        if own {
            cluster.stop();
        }
        let mut findings = run.findings;
        findings.sort_by(|one, other| place_of(one).cmp(&place_of(other)));
        Ok(Report {
            findings,
            checked,
            ignored,
            sources: self.sources.into_iter().map(|(source, _)| source).collect(),
        })
    }

    async fn apply(
        &self,
        run: &mut Run<'_>,
        cluster: &mut Cluster,
        manifests: Vec<Manifest>,
        own: bool,
    ) -> (Vec<Checked>, usize) {
        let mut ordered: Vec<((Role, usize), Write, Manifest)> = manifests
            .into_iter()
            .map(|manifest| {
                let role = self.sources[manifest.source].1;
                let (rank, write) = rank(&manifest, role);
                (rank, write, manifest)
            })
            .collect();
        ordered.sort_by_key(|(rank, ..)| *rank);
        let (mut checked, mut ignored) = (Vec::new(), 0);
        self.namespaces(cluster, &ordered, own).await;
        run.repeated_objects(&ordered);
        for (_, write, mut manifest) in ordered {
            let write = if self.quota { Write::Kept } else { write };
            if let Some(answer) = client_side::undecodable_metadata(&manifest) {
                run.answer(&manifest, &answer, None);
                let outcome = Outcome::Refused(answer.body);
                checked.push(self.checked(manifest, outcome, Vec::new()));
                continue;
            }
            let Some(kind) = cluster.kind(&manifest).await else {
                if self.ignore_missing_definitions {
                    ignored += 1;
                } else {
                    run.no_kind(&manifest);
                    checked.push(self.checked(manifest, Outcome::NoDefinition, Vec::new()));
                }
                continue;
            };
            if kind.namespaced
                && manifest.namespace().is_empty()
                && let Some(metadata) = manifest.object.part("metadata")
            {
                metadata.put("namespace", self.namespace.as_str());
            }
            run.of_object.clear();
            let mut answer = cluster.apply(&manifest, &kind, write).await;
            if let Some(nameless) = client_side::nameless(&manifest) {
                run.nameless(&manifest, &nameless, &answer);
                answer = nameless;
            } else {
                let blamed = blame::value(cluster, &manifest, &kind, &answer).await;
                run.answer(&manifest, &answer, blamed.as_deref());
                if sentence::is_of_strict_decoding(&answer.body) {
                    // A strict decoder stops the API server before it validates: what else is wrong is news, too.
                    let rest = cluster.apply(&manifest, &kind, Write::LenientDryRun).await;
                    run.answer(&manifest, &rest, None);
                }
            }
            let succeeded = answer.status.is_success();
            if manifest.kind() == "CustomResourceDefinition" && succeeded {
                cluster.rediscover();
            }
            if self.quota && succeeded {
                run.quota(cluster, &manifest, &answer.body).await;
            }
            if succeeded && write == Write::Kept {
                run.keep(&manifest);
            }
            if own && succeeded && is_namespace(&manifest) {
                cluster.default_account(manifest.name()).await;
            }
            let outcome = if succeeded {
                Outcome::Accepted(answer.body)
            } else {
                Outcome::Refused(answer.body)
            };
            checked.push(self.checked(manifest, outcome, answer.warnings));
        }
        (checked, ignored)
    }

    fn checked(&self, manifest: Manifest, outcome: Outcome, warnings: Vec<String>) -> Checked {
        Checked {
            source: self.sources[manifest.source].0.name.clone(),
            object: manifest.reference(),
            manifest: manifest.object,
            outcome,
            warnings,
        }
    }

    /// Makes the namespaces that manifests name and none of them is, and what a controller puts into one before a pod runs there.
    ///
    /// Policies of the cluster do not apply yet.
    async fn namespaces(
        &self,
        cluster: &Cluster,
        manifests: &[((Role, usize), Write, Manifest)],
        own: bool,
    ) {
        let manifests = || manifests.iter().map(|(.., manifest)| manifest);
        let applied: BTreeSet<&str> = manifests()
            .filter(|manifest| is_namespace(manifest))
            .map(Manifest::name)
            .collect();
        let named = manifests().map(Manifest::namespace);
        let named = named.filter(|name| !name.is_empty());
        let mut named: BTreeSet<&str> = named.chain([self.namespace.as_str()]).collect();
        named.insert("default");
        for name in named.difference(&applied) {
            cluster.namespace(name, &BTreeMap::new()).await;
            if own {
                cluster.default_account(name).await;
            }
        }
    }

    fn headers(&self) -> io::Result<Vec<(HeaderName, HeaderValue)>> {
        let Some(user) = &self.user else {
            return Ok(Vec::new());
        };
        cluster::impersonation(user, &self.groups)
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))
    }
}

/// The findings so far, and what places them.
struct Run<'a> {
    sources: &'a [(Source, Role)],
    lines: Vec<Lines>,
    /// By source and the start of the document; `None` where a document has no places.
    places: BTreeMap<(usize, usize), Option<Places>>,
    /// The admission policies among the manifests.
    policies: Vec<Manifest>,
    findings: Vec<Finding>,
    /// Those of the object that is being applied.
    of_object: Vec<Finding>,
    /// The names of objects of which there is more than one manifest.
    repeated_names: HashSet<String>,
    /// Those of them that the cluster has, and where their names are.
    kept: HashMap<ObjectReference, Location>,
}

impl Run<'_> {
    fn unreadable(&mut self, unreadable: &Unreadable) {
        self.findings.push(Finding {
            severity: Severity::Error,
            rule: "Unreadable".to_owned(),
            message: format!("cannot read {}: {}", unreadable.name, unreadable.why),
            field: None,
            object: None,
            location: None,
            related: Vec::new(),
            help: None,
        });
    }

    fn no_object(&mut self, source: usize, other: &NoObject) {
        let document = &other.document;
        let is_template = self.sources[source].0.text[document.clone()].contains("{{");
        let (rule, path) = match &other.found {
            NotObject::Malformed(_) => ("Malformed", ""),
            NotObject::Value(path) => ("NoObject", path.as_str()),
        };
        let location = match &other.found {
            NotObject::Malformed(Some(at)) => {
                let at = document.start + at.start..document.start + at.end;
                Some(self.location(source, at))
            }
            _ => self.find(source, document, path).map(|place| place.0),
        };
        self.findings.push(Finding {
            severity: Severity::Error,
            rule: rule.to_owned(),
            message: other.why.clone(),
            field: None,
            object: None,
            location,
            related: Vec::new(),
            help: is_template.then(|| TEMPLATE.to_owned()),
        });
    }

    /// Notes the keys that a mapping has twice: the API server sees only the last value.
    fn repeated_keys(&mut self, source: usize, document: &Range<usize>) {
        let places = self.places(source, document);
        let repeated = places.map(|places| places.repeated().to_vec());
        for key in repeated.unwrap_or_default() {
            let at = |bytes: Range<usize>| document.start + bytes.start..document.start + bytes.end;
            let first = self.location(source, at(key.first));
            self.findings.push(Finding {
                severity: Severity::Error,
                rule: "DuplicateKey".to_owned(),
                message: format!("key \"{}\" is already set in this mapping", key.name),
                field: None,
                object: None,
                location: Some(self.location(source, at(key.again))),
                related: vec![Related {
                    location: first,
                    message: "set here, and ignored: the last value counts".to_owned(),
                }],
                help: None,
            });
        }
    }

    fn places(&mut self, source: usize, document: &Range<usize>) -> Option<&Places> {
        let text = &self.sources[source].0.text[document.clone()];
        let places = self.places.entry((source, document.start));
        places.or_insert_with(|| Places::read(text).ok()).as_ref()
    }

    fn no_kind(&mut self, manifest: &Manifest) {
        let (kind, api_version) = (manifest.kind(), manifest.api_version());
        let message = format!("no matches for kind \"{kind}\" in version \"{api_version}\"");
        let sentence = Sentence {
            rule: "NoMatch".to_owned(),
            message,
            field: Some("kind".to_owned()),
            of_name: false,
        };
        let mut finding = self.finding(manifest, Severity::Error, sentence);
        let help = match kind {
            "Kustomization" => {
                "check what it builds: kubectl kustomize DIRECTORY | kubewright check -"
            }
            _ => "pass its CustomResourceDefinition with --crd, or --ignore-missing-definitions",
        };
        finding.help = Some(help.to_owned());
        self.findings.push(finding);
    }

    /// Notes what an answer says; `blamed` is the field of a value that could not be decoded.
    fn answer(&mut self, manifest: &Manifest, answer: &Answer, blamed: Option<&str>) {
        for warning in &answer.warnings {
            let sentence = sentence::of_warning(warning);
            self.find_once(manifest, Severity::Warning, sentence);
        }
        if !answer.status.is_success() {
            for mut sentence in sentence::of_status(&answer.body) {
                sentence.field = blamed.map(str::to_owned).or(sentence.field);
                self.find_once(manifest, Severity::Error, sentence);
            }
        }
    }

    /// Adds a finding, unless an answer to an earlier request about the object was the same.
    fn find_once(&mut self, manifest: &Manifest, severity: Severity, sentence: Sentence) {
        let finding = self.finding(manifest, severity, sentence);
        if !self.of_object.contains(&finding) {
            self.of_object.push(finding.clone());
            self.findings.push(finding);
        }
    }

    /// Notes that kubectl refuses an object without a name, and what the API server would say besides: often why there is none.
    fn nameless(&mut self, manifest: &Manifest, nameless: &Answer, answer: &Answer) {
        self.answer(manifest, nameless, None);
        if answer.status.is_success() {
            return;
        }
        let mut sentences = sentence::of_status(&answer.body);
        sentences.retain(|said| said.field.as_deref() != Some("metadata.name"));
        for sentence in sentences {
            let finding = self.finding(manifest, Severity::Error, sentence);
            self.findings.push(finding);
        }
    }

    /// Enforces a ResourceQuota, and charges the pods of a workload.
    async fn quota(&mut self, cluster: &Cluster, manifest: &Manifest, stored: &Value) {
        if manifest.kind() == "ResourceQuota" && stored.get("status").is_none_or(is_empty) {
            cluster.enforce(stored).await;
        }
        let Some(refused) = cluster.run(manifest, stored).await else {
            return;
        };
        for mut sentence in sentence::of_status(&refused.body) {
            sentence.field = Some("spec".to_owned());
            self.find_once(manifest, Severity::Error, sentence);
        }
    }

    fn finding(&mut self, manifest: &Manifest, severity: Severity, sentence: Sentence) -> Finding {
        let field = sentence.field.as_deref();
        let path = manifest.path_of(field.unwrap_or("kind"));
        let found = self.find(manifest.source, &manifest.document, &path);
        let (location, mut related) = match found {
            Some((_, Some(name), related)) if sentence.of_name => (Some(name), related),
            Some((location, _, related)) => (Some(location), related),
            None => (None, Vec::new()),
        };
        related.extend(self.rule_of_policy(&sentence));
        related.extend(self.applied_before(manifest, severity));
        let help = (sentence.rule == "UnknownField")
            .then_some(field)
            .flatten()
            .and_then(|field| suggestion::field(manifest.api_version(), manifest.kind(), field));
        let help = help.map(|name| format!("a field with a similar name exists: {name}"));
        Finding {
            severity,
            rule: sentence.rule,
            message: sentence.message,
            field: sentence.field,
            object: Some(manifest.reference()),
            location,
            related,
            help,
        }
    }

    fn repeated_objects(&mut self, manifests: &[((Role, usize), Write, Manifest)]) {
        let mut seen = HashSet::with_capacity(manifests.len());
        let repeated = manifests
            .iter()
            .map(|(.., manifest)| manifest)
            .filter(|manifest| !seen.insert((manifest.kind(), manifest.name())));
        self.repeated_names = repeated
            .map(|manifest| manifest.name().to_owned())
            .collect();
    }

    /// Remembers where an object of the cluster is from, if another manifest may update it.
    fn keep(&mut self, manifest: &Manifest) {
        if !self.repeated_names.contains(manifest.name()) {
            return;
        }
        let path = manifest.path_of("metadata.name");
        if let Some((location, ..)) = self.find(manifest.source, &manifest.document, &path) {
            self.kept.insert(manifest.reference(), location);
        }
    }

    /// Where the object that a refused manifest would have updated is from: few expect that it is an update.
    fn applied_before(&self, manifest: &Manifest, severity: Severity) -> Option<Related> {
        let location = self.kept.get(&manifest.reference())?.clone();
        (severity == Severity::Error).then(|| Related {
            location,
            message: "applied before from here: this manifest updates it".to_owned(),
        })
    }

    /// Where the policy that spoke is defined: its validation if the message is that of one, else its name.
    fn rule_of_policy(&mut self, sentence: &Sentence) -> Option<Related> {
        let (kind, name, said) = sentence.policy()?;
        let is_it = |policy: &&Manifest| policy.kind() == kind && policy.name() == name;
        let policy = self.policies.iter().find(is_it)?.clone();
        let validations = policy.object.at("spec").list("validations");
        let says_it = |validation: &Value| match validation.text("message") {
            "" => {
                said.strip_prefix("failed expression: ")
                    == Some(validation.text("expression").trim())
            }
            message => message.trim() == said.trim(),
        };
        let index = validations.iter().position(says_it);
        let field = index.map(|index| format!("spec.validations[{index}].expression"));
        let path = policy.path_of(field.as_deref().unwrap_or("metadata.name"));
        let (location, ..) = self.find(policy.source, &policy.document, &path)?;
        Some(Related {
            location,
            message: match index {
                Some(_) => format!("this validation of {kind} {name} is false"),
                None => format!("{kind} {name} is defined here"),
            },
        })
    }

    /// Where a path of a document leads: the value or what is nearest to it; its key; and where an alias stands for it.
    fn find(
        &mut self,
        source: usize,
        document: &Range<usize>,
        path: &str,
    ) -> Option<(Location, Option<Location>, Vec<Related>)> {
        let text = &self.sources[source].0.text[document.clone()];
        let place = self.places(source, document)?.find(path)?;
        let moved = |bytes: Range<usize>| bytes.start + document.start..bytes.end + document.start;
        let spans_lines = text[place.value.clone()].contains('\n');
        let value = match &place.key {
            // A mapping of many lines is shown by its key.
            Some(key) if spans_lines || !place.missing.is_empty() => key.clone(),
            _ => {
                let first_line = text[place.value.clone()].lines().next().unwrap_or_default();
                place.value.start..place.value.start + first_line.len()
            }
        };
        let value = self.location(source, moved(value));
        let key = place.key.map(|key| self.location(source, moved(key)));
        let related = place.alias.map(|alias| Related {
            location: self.location(source, moved(alias)),
            message: "used here".to_owned(),
        });
        Some((value, key, related.into_iter().collect()))
    }

    fn location(&self, source: usize, bytes: Range<usize>) -> Location {
        let of = &self.sources[source].0;
        self.lines[source].location(&of.name, &of.text, bytes)
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_none_or(Map::is_empty)
}

fn is_namespace(manifest: &Manifest) -> bool {
    manifest.kind() == "Namespace" && manifest.api_version() == "v1"
}

fn place_of(finding: &Finding) -> Option<(&str, usize)> {
    let location = finding.location.as_ref()?;
    Some((&location.source, location.bytes.start))
}
