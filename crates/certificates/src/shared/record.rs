//! The content of the Secret, and how it is parsed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::root::Root;
use super::state::{Ca, Next, Previous, State};
use crate::{Authority, TrustBundle, pem};

/// The type of the Secret: no other program reads or writes Secrets of this type.
pub(crate) const TYPE: &str = "kubewright.dev/authority";

/// The label, with its value, of the Secrets that Kubewright manages: it does not write to a Secret without it.
pub(crate) const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "kubewright");

/// The annotation that requests a rotation. The rotation removes it when it begins.
pub(crate) const ROTATE: &str = "kubewright.dev/rotate";

const STATE: &str = "state";
const VERSION: u32 = 1;
/// The highest counter that is accepted: no rotation ever reaches it.
const MOST_COUNTED: u64 = u64::MAX / 2;

/// A Secret as it was read.
#[derive(Clone)]
pub(crate) struct Record(Secret);

/// The content of a Secret.
#[derive(Debug)]
pub(crate) enum Content {
    State(Box<State<Root>>),
    /// The Secret belongs to this program, and its content is unusable for this reason.
    Broken(String),
    /// The Secret belongs to another program, for this reason.
    Foreign(String),
}

/// The state of the rotation without its certificates and keys.
#[derive(Serialize, Deserialize)]
struct Story {
    version: u32,
    generation: u64,
    revision: u64,
    confirmed: bool,
    current: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<Timestamp>,
    /// When each of the previous authorities was followed by another, in the order of their certificates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    switched: Vec<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retired: Vec<String>,
}

impl Record {
    pub(crate) fn absent(namespace: &str, name: &str) -> Self {
        let mut secret = Secret {
            type_: Some(TYPE.to_owned()),
            ..Secret::default()
        };
        secret.metadata.name = Some(name.to_owned());
        secret.metadata.namespace = Some(namespace.to_owned());
        let (label, value) = LABEL;
        let labels = secret.metadata.labels.get_or_insert_default();
        labels.insert(label.to_owned(), value.to_owned());
        Self(secret)
    }

    /// The same Secret, which the API server deletes when its owner is gone.
    pub(crate) fn owned_by(mut self, owner: Option<OwnerReference>) -> Self {
        self.0.metadata.owner_references = owner.map(|owner| vec![owner]);
        self
    }

    pub(crate) fn of(secret: Secret) -> Self {
        Self(secret)
    }

    pub(crate) fn as_secret(&self) -> &Secret {
        &self.0
    }

    pub(crate) fn version(&self) -> &str {
        let version = self.0.metadata.resource_version.as_deref();
        version.unwrap_or_default()
    }

    pub(crate) fn is_asked(&self) -> bool {
        let annotations = self.0.metadata.annotations.as_ref();
        annotations.is_some_and(|annotations| annotations.contains_key(ROTATE))
    }

    /// Who else has written it last, by the name under which the API server knows writers.
    pub(crate) fn other_writer(&self, own: &str) -> Option<&str> {
        let entries = self.0.metadata.managed_fields.as_deref()?;
        let others = entries.iter().filter_map(|entry| {
            let manager = entry.manager.as_deref()?;
            (manager != own).then_some((entry.time.as_ref(), manager))
        });
        others
            .max_by(|(one, _), (other, _)| one.cmp(other))
            .map(|(_, manager)| manager)
    }

    /// The same Secret with this state in it. What others have written beside it stays.
    pub(crate) fn with(&self, state: &State<Root>, takes_request: bool) -> Self {
        let mut record = self.clone();
        let data = record.0.data.get_or_insert_default();
        for key in ["ca.crt", "ca.key", "next.crt", "next.key", "previous.crt"] {
            data.remove(key);
        }
        insert(data, "ca", &state.current);
        if let Some(next) = &state.next {
            insert(data, "next", &next.authority);
        }
        if !state.previous.is_empty() {
            let previous = state.previous.iter();
            let certificates = previous.map(|previous| previous.authority.certificate().clone());
            let text = TrustBundle::of(certificates.collect()).to_pem();
            data.insert("previous.crt".to_owned(), ByteString(text.into_bytes()));
        }
        let story = serde_json::to_vec_pretty(&Story::of(state)).unwrap_or_default();
        data.insert(STATE.to_owned(), ByteString(story));
        if takes_request && let Some(annotations) = &mut record.0.metadata.annotations {
            annotations.remove(ROTATE);
        }
        record
    }

    pub(crate) fn content(&self) -> Content {
        let found = self.0.type_.as_deref().unwrap_or("Opaque");
        if found != TYPE {
            return Content::Foreign(format!("its type is {found}, not {TYPE}"));
        }
        let (label, value) = LABEL;
        let labels = self.0.metadata.labels.as_ref();
        if labels
            .and_then(|labels| labels.get(label))
            .map(String::as_str)
            != Some(value)
        {
            return Content::Foreign(format!("it has no label {label}={value}"));
        }
        let story = match self.story() {
            Ok(story) if story.version > VERSION => {
                let version = story.version;
                return Content::Foreign(format!(
                    "a newer program wrote it, in the form {version}"
                ));
            }
            Ok(story) => story,
            Err(why) => return Content::Broken(why),
        };
        self.state(&story)
            .map_or_else(Content::Broken, |state| Content::State(Box::new(state)))
    }

    fn story(&self) -> Result<Story, String> {
        let text = self.value(STATE)?;
        // The error quotes nothing: no word of the Secret belongs into a log.
        serde_json::from_slice(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("`{STATE}` cannot be read at line {line}, column {column}")
        })
    }

    fn state(&self, story: &Story) -> Result<State<Root>, String> {
        let next = match &story.next {
            None => None,
            Some(fingerprint) => Some(Next {
                authority: self.root("next", fingerprint)?,
                published_at: story.published.map(SystemTime::from),
            }),
        };
        let mut previous = Vec::new();
        if !story.switched.is_empty() {
            let what = "previous.crt";
            let certificates =
                pem::certificates(self.value(what)?, "bundle of previous authorities")
                    .map_err(|error| format!("`{what}`: {error}"))?;
            if certificates.len() != story.switched.len() {
                return Err(format!("`{what}` is not what `{STATE}` tells of"));
            }
            for (certificate, switched) in certificates.into_iter().zip(&story.switched) {
                let authority = Root::of(certificate).map_err(|error| error.to_string())?;
                let switched_at = SystemTime::from(*switched);
                previous.push(Previous {
                    authority,
                    switched_at,
                });
            }
        }
        // Both count up: a number that leaves no room for that was not counted.
        if story.generation.max(story.revision) > MOST_COUNTED {
            return Err(format!("`{STATE}` counts further than any rotation gets"));
        }
        let retired = story.retired.iter().map(|text| Fingerprint::parse(text));
        Ok(State {
            generation: story.generation,
            revision: story.revision,
            current: self.root("ca", &story.current)?,
            confirmed: story.confirmed,
            next,
            previous,
            retired: retired
                .collect::<Option<_>>()
                .ok_or_else(|| format!("`{STATE}` has a fingerprint that is none"))?,
        })
    }

    /// Reads an authority that signs. If another client has replaced its pair, the rest of the state does not apply to it.
    fn root(&self, name: &str, fingerprint: &str) -> Result<Root, String> {
        let text = |ending| {
            let key = format!("{name}.{ending}");
            let value = std::str::from_utf8(self.value(&key)?);
            value.map_err(|_| format!("`{key}` is no text"))
        };
        let authority = Authority::from_pem(text("crt")?, text("key")?)
            .map_err(|error| format!("`{name}.crt`, `{name}.key`: {error}"))?;
        let root = Root::with_key(authority).map_err(|error| error.to_string())?;
        if root.fingerprint().to_string() != fingerprint {
            return Err(format!("`{name}.crt` is not what `{STATE}` tells of"));
        }
        Ok(root)
    }

    fn value(&self, key: &str) -> Result<&[u8], String> {
        let data = self.0.data.as_ref();
        let value = data.and_then(|data| data.get(key));
        value
            .map(|value| &value.0[..])
            .ok_or_else(|| format!("there is no `{key}`"))
    }
}

impl Story {
    fn of(state: &State<Root>) -> Self {
        let next = state.next.as_ref();
        let time = |time: SystemTime| Timestamp::try_from(time).unwrap_or_default();
        Self {
            version: VERSION,
            generation: state.generation,
            revision: state.revision,
            confirmed: state.confirmed,
            current: state.current.fingerprint().to_string(),
            next: next.map(|next| next.authority.fingerprint().to_string()),
            published: next.and_then(|next| next.published_at).map(time),
            switched: state
                .previous
                .iter()
                .map(|previous| time(previous.switched_at))
                .collect(),
            retired: state.retired.iter().map(Fingerprint::to_string).collect(),
        }
    }
}

/// Without its values.
impl fmt::Debug for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Record")
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

fn insert(data: &mut BTreeMap<String, ByteString>, name: &str, root: &Root) {
    let Some(authority) = root.authority() else {
        return;
    };
    for (ending, text) in [
        ("crt", authority.certificate_pem()),
        ("key", authority.key_pem()),
    ] {
        data.insert(format!("{name}.{ending}"), ByteString(text.into_bytes()));
    }
}
