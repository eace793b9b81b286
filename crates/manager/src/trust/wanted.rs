//! What the objects that lead to a program are to say.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_certificates::{Trust, TrustBundle};
use rustls_pki_types::CertificateDer;
use serde_json::{Value, json};

use super::target::{Target, text_at};

/// What every object that leads to the program is to say about trust.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// These authorities are in every `caBundle`, and none that is retired.
    Bundle {
        trusted: TrustBundle,
        is_retired: IsRetired,
    },
    /// cert-manager fills in the authority of this certificate.
    InjectedFrom(Arc<str>),
}

/// Whether an authority has to leave: nothing else removes one.
pub(crate) type IsRetired = Arc<dyn Fn(&CertificateDer<'_>) -> bool + Send + Sync>;

/// A field of an object and what it becomes.
#[derive(Debug, PartialEq)]
pub(crate) struct Edit {
    parent: String,
    field: &'static str,
    value: Value,
}

impl Wanted {
    /// These authorities, and whatever else is there.
    pub(crate) fn trust(trusted: TrustBundle) -> Self {
        Self::Bundle {
            trusted,
            is_retired: Arc::new(|_| false),
        }
    }

    /// What a rotation of authorities has come to.
    pub(crate) fn of_rotation(trust: Trust) -> Self {
        Self::Bundle {
            trusted: trust.trusted().clone(),
            is_retired: Arc::new(move |one| trust.must_leave(one, SystemTime::now())),
        }
    }

    /// Returns the changes that an object needs, or none if it has the wanted `caBundle` or annotation.
    pub(crate) fn edits(&self, target: &Target, object: &Value) -> Vec<Edit> {
        match self {
            Self::Bundle {
                trusted,
                is_retired,
            } => {
                let places = target.places(object).into_iter();
                let edit = |place: String| {
                    let text = text_at(object, &place);
                    let merged = trusted.merge_into(text, |one| is_retired(one))?;
                    Some(Edit {
                        parent: place,
                        field: "caBundle",
                        value: STANDARD.encode(merged).into(),
                    })
                };
                places.filter_map(edit).collect()
            }
            Self::InjectedFrom(certificate) => {
                let annotations = &object["metadata"]["annotations"];
                if target.places(object).is_empty() || annotations[INJECT] == **certificate {
                    return Vec::new();
                }
                let mut annotations = annotations.clone();
                if !annotations.is_object() {
                    annotations = json!({});
                }
                annotations[INJECT] = (**certificate).into();
                vec![Edit {
                    parent: "/metadata".to_owned(),
                    field: "annotations",
                    value: annotations,
                }]
            }
        }
    }
}

impl Edit {
    /// The object with what is edited in it.
    pub(crate) fn apply(edits: Vec<Self>, mut object: Value) -> Value {
        for edit in edits {
            if let Some(Value::Object(parent)) = object.pointer_mut(&edit.parent) {
                parent.insert(edit.field.to_owned(), edit.value);
            }
        }
        object
    }
}

impl fmt::Debug for Wanted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundle { trusted, .. } => {
                let count = trusted.certificates().len();
                formatter.debug_tuple("Bundle").field(&count).finish()
            }
            Self::InjectedFrom(certificate) => formatter
                .debug_tuple("InjectedFrom")
                .field(certificate)
                .finish(),
        }
    }
}

const INJECT: &str = "cert-manager.io/inject-ca-from";
