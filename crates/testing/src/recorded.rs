//! Reviews that were recorded, asked once more.

use std::io;
use std::path::Path;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_webhook::{Recording, Webhooks};
use tower::ServiceExt as _;

/// A recorded review whose answer has changed. [`replay`] returns it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Changed {
    /// The review, with the answer that it had.
    pub before: Recording,
    /// The same review with the answer that it has now.
    pub after: Recording,
}

/// Reads the reviews that a program has recorded in a directory, in the order of their file names.
///
/// ```
/// use kubewright_testing::{Recording, recordings};
///
/// # let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
/// #     "kind":{"kind":"ConfigMap","group":"","version":"v1"},"resource":{"resource":"configmaps","group":"","version":"v1"},
/// #     "object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}}"#;
/// # let directory = tempfile::tempdir().unwrap();
/// # let recorded = directory.path();
/// # let recording = Recording::of("/maps", "maps", review, Some(br#"{"response":{"allowed":true}}"#)).unwrap();
/// # std::fs::write(recorded.join("1.json"), serde_json::to_vec(&recording).unwrap()).unwrap();
/// // `recorded` is where a program has run with `--record recorded`.
/// let reviews = recordings(recorded).unwrap();
/// assert_eq!(reviews[0].path(), "/maps");
/// assert_eq!(reviews[0].answer().unwrap()["allowed"], true);
/// ```
///
/// # Errors
///
/// When the directory or a file in it cannot be read, or a file is not a recording.
pub fn recordings(directory: impl AsRef<Path>) -> io::Result<Vec<Recording>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read(path)?;
        serde_json::from_slice(&text).map_err(|error| {
            let what = format!("{} is not a recorded review: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    };
    files.iter().map(read).collect()
}

/// Asks webhooks the reviews that were recorded, and returns those that are answered otherwise: so what has come up in a cluster
/// becomes a test.
///
/// What was taken out of a recording is not there to be looked at: a hook that judges by the values of Secrets, ConfigMaps,
/// annotations, variables or commands, or by objects that it looks up, may answer otherwise for that reason alone.
///
/// A hook in shadow mode answers with its decision here, which is compared with the recorded one.
///
/// # Example: a new build denies what it has allowed
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{Recording, replay};
/// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
///
/// async fn strict(_: Change<ConfigMap>, _: Review) -> Validated {
///     deny("nothing passes")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
/// #     "kind":{"kind":"ConfigMap","group":"","version":"v1"},"resource":{"resource":"configmaps","group":"","version":"v1"},
/// #     "object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}}"#;
/// // From `recordings("recorded")`, where a program has run with `--record recorded`.
/// let recorded = vec![Recording::of("/maps", "maps", review, Some(br#"{"response":{"allowed":true}}"#))?];
///
/// let webhooks = Webhooks::new("policy.example.com").with(validating("maps", strict));
/// let changed = replay(&webhooks, recorded).await;
/// assert_eq!(changed[0].before.answer().unwrap()["allowed"], true);
/// assert_eq!(changed[0].after.answer().unwrap()["status"]["message"], "nothing passes");
/// # Ok(())
/// # }
/// ```
///
/// # Panics
///
/// An answer of the webhooks is not JSON, which cannot be.
///
/// # Cancel safety
///
/// Dropping the future leaves the rest unasked.
pub async fn replay(webhooks: &Webhooks, recorded: Vec<Recording>) -> Vec<Changed> {
    let mut changed = Vec::new();
    for before in recorded {
        let body = http_body_util::Full::<bytes::Bytes>::from(before.review().to_string());
        let request = Request::post(format!("{}?mode=enforce", before.path()))
            .header("content-type", "application/json")
            .body(body);
        let Ok(request) = request else {
            crate::fail(format_args!(
                "`{}` is not the path of a hook",
                before.path()
            ));
        };
        let Ok(answer) = webhooks.clone().oneshot(request).await;
        let is_answer = answer.status() == StatusCode::OK;
        let Ok(body) = answer.into_body().collect().await;
        let body = body.to_bytes();
        let after = before.answered(is_answer.then_some(&*body));
        let after = after.expect("webhooks answer with JSON");
        if !after.is_answered_as(&before) {
            changed.push(Changed { before, after });
        }
    }
    changed
}
