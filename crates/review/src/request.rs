//! The request half of an AdmissionReview: the envelope read in one pass, the objects kept as text.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::apply::{apply, check};
use crate::body::Body;
use crate::decode::{DecodeError, Decoder, Scope, Which};
use crate::graft::graft;
use crate::image::Image;
use crate::json::{JsonError, Members, Reader};
use crate::raw::Raw;
use crate::{
    ApplyError, Change, GroupVersionKind, GroupVersionResource, Operation, Patch, ReadError,
    Version, printable,
};

/// The request of an AdmissionReview.
///
/// If a field comes twice, the last one counts, as for the API server itself.
///
/// ```
/// use kubewright_review::{AdmissionReview, Body, Operation};
///
/// let body = br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7","operation":"DELETE",
///     "kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"blue","name":"web","oldObject":{"kind":"Pod"}}}"#;
/// let review = AdmissionReview::read(&Body::new(body.to_vec())?)?;
/// assert_eq!(review.operation(), Operation::Delete);
/// assert_eq!((review.kind().kind, review.namespace(), review.name()), ("Pod", "blue", "web"));
/// assert_eq!(review.object(), None);
/// assert_eq!(review.old_object(), Some(r#"{"kind":"Pod"}"#));
/// # Ok::<(), kubewright_review::ReadError>(())
/// ```
#[derive(Clone)]
pub struct AdmissionReview {
    body: Body,
    version: Version,
    operation: Operation,
    envelope: Envelope,
    /// The object as earlier handlers on the same path left it.
    changed: Option<Arc<str>>,
}

impl AdmissionReview {
    /// Reads the body of a webhook call. The objects are only stepped over.
    ///
    /// ```
    /// use kubewright_review::{AdmissionReview, Body, ReadError};
    ///
    /// let body = br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"operation":"CREATE"}}"#;
    /// assert_eq!(AdmissionReview::read(&Body::new(body.to_vec())?).unwrap_err(), ReadError::NoUid);
    /// # Ok::<(), ReadError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the body is not a review that can be answered.
    pub fn read(body: &Body) -> Result<Self, ReadError> {
        Self::read_envelope(body, &mut |_, reader| {
            reader.skip()?;
            Ok(Members::default())
        })
    }

    /// Reads the body of a webhook call and the objects in it, in one pass.
    ///
    /// ```
    /// use kubewright_review::{AdmissionReview, Body, Change, Scope};
    ///
    /// #[derive(Debug, PartialEq, serde::Deserialize)]
    /// struct Sized {
    ///     size: u32,
    /// }
    ///
    /// let body = br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7","operation":"UPDATE",
    ///     "oldObject":{"size":1},"object":{"size":2}}}"#;
    /// let (review, change) = AdmissionReview::read_typed::<Sized>(&Body::new(body.to_vec())?, Scope::Object)?;
    /// assert_eq!(review.uid(), "7");
    /// assert_eq!(change?, Change::Update { old: Sized { size: 1 }, new: Sized { size: 2 } });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the body is not a review that can be answered. The inner result is an error if an object cannot be read as `K`.
    pub fn read_typed<K: DeserializeOwned>(
        body: &Body,
        scope: Scope,
    ) -> Result<(Self, Result<Change<K>, DecodeError>), ReadError> {
        let mut decoder = Decoder::new(scope);
        let review = Self::read_envelope(body, &mut |which, reader| decoder.read(which, reader))?;
        let change = decoder.change(review.operation);
        Ok((review, change))
    }

    /// Reads the objects of this review into another type.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Scope;
    ///
    /// let review = review("CREATE", r#""object":{"size":1}"#);
    /// let object = review.decode::<serde_json::Value>(Scope::Object)?.into_object();
    /// assert_eq!(object["size"], 1);
    /// # Ok::<(), kubewright_review::DecodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If an object that the operation needs is null or cannot be read as `K`.
    pub fn decode<K: DeserializeOwned>(&self, scope: Scope) -> Result<Change<K>, DecodeError> {
        let mut decoder = Decoder::new(scope);
        for (which, text) in [
            (Which::Object, self.object()),
            (Which::OldObject, self.old_object()),
        ] {
            if let Some(text) = text {
                let read = decoder.read(which, &mut Reader::new(text));
                debug_assert!(read.is_ok(), "the object was read before");
            }
        }
        decoder.change(self.operation)
    }

    /// Returns the patch that makes the changes between two images of the typed object in this review's object. Fields that
    /// the type does not know stay.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let review = review("CREATE", r#""object":{"size":1,"unknown":true}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let after = before.then(&serde_json::json!({"size": 2}))?;
    /// let patch = review.graft(&before, &after)?;
    /// assert_eq!(review.changed_by(&patch)?.object(), Some(r#"{"size":2,"unknown":true}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no object to change.
    pub fn graft(&self, before: &Image, after: &Image) -> Result<Patch, ApplyError> {
        let object = self.raw_object()?;
        let mut patch = graft(object, before, after)?;
        if self.changed.is_none() {
            patch.made_for(&self.body);
        }
        Ok(patch)
    }

    /// Makes sure that a patch fits the object. One that [`AdmissionReview::graft`] has just made of it does.
    pub(crate) fn fits(&self, patch: &Patch) -> Result<(), ApplyError> {
        if self.changed.is_none() && patch.is_made_for(&self.body) {
            debug_assert_eq!(
                self.check(patch),
                Ok(()),
                "a patch fits what it was made of"
            );
            return Ok(());
        }
        self.check(patch)
    }

    /// Checks that a patch applies to the object.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let sized = review("CREATE", r#""object":{"size":1}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let patch = sized.graft(&before, &before.then(&serde_json::json!({"size": 2}))?)?;
    /// assert_eq!(sized.check(&patch), Ok(()));
    /// assert!(review("CREATE", r#""object":{}"#).check(&patch).is_err(), "there is no size to replace");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no object, or the patch does not apply to it.
    pub fn check(&self, patch: &Patch) -> Result<(), ApplyError> {
        check(self.raw_object()?, patch)
    }

    /// Returns the same review with the object as a patch leaves it, for the next mutator of a chain.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let first = review("CREATE", r#""object":{"size":1}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let patch = first.graft(&before, &before.then(&serde_json::json!({"size": 2}))?)?;
    /// assert_eq!(first.changed_by(&patch)?.object(), Some(r#"{"size":2}"#));
    /// assert_eq!(first.object(), Some(r#"{"size":1}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no object, or the patch does not apply to it.
    pub fn changed_by(&self, patch: &Patch) -> Result<Self, ApplyError> {
        let object = apply(self.raw_object()?, patch)?;
        Ok(Self {
            changed: Some(object.into()),
            ..self.clone()
        })
    }

    /// Returns the version of the protocol, which the answer has to have too.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the UID of this call, which the answer repeats.
    pub fn uid(&self) -> &str {
        self.text(&self.envelope.uid)
    }

    /// Returns the operation that the client asked for.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns the kind of the objects in this review.
    pub fn kind(&self) -> GroupVersionKind<'_> {
        self.kind_of(&self.envelope.kind)
    }

    /// Returns the resource as the webhook's rule names it.
    pub fn resource(&self) -> GroupVersionResource<'_> {
        self.resource_of(&self.envelope.resource)
    }

    /// Returns the sub-resource, empty for the object itself.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// assert_eq!(review("UPDATE", r#""subResource":"scale""#).sub_resource(), "scale");
    /// assert_eq!(review("UPDATE", r#""name":"web""#).sub_resource(), "");
    /// ```
    pub fn sub_resource(&self) -> &str {
        self.text(&self.envelope.sub_resource)
    }

    /// Returns the kind that the client sent, which can be of another version.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// let review = review("CREATE", r#"
    ///     "kind":{"group":"example.com","version":"v2","kind":"Widget"},
    ///     "requestKind":{"group":"example.com","version":"v1","kind":"Widget"}"#);
    /// assert_eq!(review.kind().version, "v2");
    /// assert_eq!(review.request_kind().version, "v1");
    /// ```
    pub fn request_kind(&self) -> GroupVersionKind<'_> {
        let envelope = &self.envelope;
        self.kind_of(envelope.request_kind.as_ref().unwrap_or(&envelope.kind))
    }

    /// Returns the resource that the client named, which can be of another version.
    pub fn request_resource(&self) -> GroupVersionResource<'_> {
        let envelope = &self.envelope;
        self.resource_of(
            envelope
                .request_resource
                .as_ref()
                .unwrap_or(&envelope.resource),
        )
    }

    /// Returns the sub-resource that the client named.
    pub fn request_sub_resource(&self) -> &str {
        self.text(&self.envelope.request_sub_resource)
    }

    /// Returns the object's name, empty while the API server has yet to generate it.
    pub fn name(&self) -> &str {
        self.text(&self.envelope.name)
    }

    /// Returns the object's namespace, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.text(&self.envelope.namespace)
    }

    /// Returns whether nothing will be stored.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// assert!(review("CREATE", r#""dryRun":true"#).dry_run());
    /// assert!(!review("CREATE", r#""dryRun":null"#).dry_run());
    /// ```
    pub fn dry_run(&self) -> bool {
        self.envelope.dry_run
    }

    /// Returns the user as JSON, or `None` if the request has none.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// let review = review("CREATE", r#""userInfo":{"username":"jane"}"#);
    /// assert_eq!(review.user_info(), Some(r#"{"username":"jane"}"#));
    /// ```
    pub fn user_info(&self) -> Option<&str> {
        self.span(self.envelope.user_info.as_ref())
    }

    /// Returns the object as JSON, or `None` if it is null.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// assert_eq!(review("CREATE", r#""object":{"size": 1}"#).object(), Some(r#"{"size": 1}"#), "as it was sent");
    /// assert_eq!(review("DELETE", r#""object":null"#).object(), None);
    /// ```
    pub fn object(&self) -> Option<&str> {
        match &self.changed {
            Some(text) => Some(text),
            None => self.span(self.envelope.object.as_ref()),
        }
    }

    /// Returns the stored object as JSON, or `None` if it is null.
    pub fn old_object(&self) -> Option<&str> {
        self.span(self.envelope.old_object.as_ref())
    }

    /// Returns the options of the request as JSON, or `None` if they are null.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// let review = review("DELETE", r#""options":{"kind":"DeleteOptions","propagationPolicy":"Orphan"}"#);
    /// assert!(review.options().unwrap().contains("Orphan"));
    /// ```
    pub fn options(&self) -> Option<&str> {
        self.span(self.envelope.options.as_ref())
    }

    fn read_envelope(body: &Body, objects: &mut Objects<'_>) -> Result<Self, ReadError> {
        let (version, envelope) = Envelope::read(body.text(), objects)?;
        let this = Self {
            body: body.clone(),
            version,
            operation: envelope.operation.ok_or(ReadError::Operation)?,
            envelope,
            changed: None,
        };
        if this.uid().is_empty() {
            return Err(ReadError::NoUid);
        }
        if !is_uid(this.uid()) {
            return Err(ReadError::Uid(this.uid().len()));
        }
        Ok(this)
    }

    fn raw_object(&self) -> Result<Raw<'_>, ApplyError> {
        let text = self
            .object()
            .ok_or_else(|| ApplyError::Missing("object to change".to_owned()))?;
        Ok(
            if self.changed.is_some() || self.envelope.members.object.is_empty() {
                Raw::new(text)
            } else {
                Raw::object(text, &self.envelope.members)
            },
        )
    }

    fn text<'s>(&'s self, text: &'s Text) -> &'s str {
        text.within(self.body.text())
    }

    fn span(&self, span: Option<&Range<usize>>) -> Option<&str> {
        span.map(|span| &self.body.text()[span.clone()])
    }

    fn kind_of<'s>(&'s self, [group, version, kind]: &'s [Text; 3]) -> GroupVersionKind<'s> {
        GroupVersionKind {
            group: self.text(group),
            version: self.text(version),
            kind: self.text(kind),
        }
    }

    fn resource_of<'s>(
        &'s self,
        [group, version, resource]: &'s [Text; 3],
    ) -> GroupVersionResource<'s> {
        GroupVersionResource {
            group: self.text(group),
            version: self.text(version),
            resource: self.text(resource),
        }
    }
}

impl fmt::Debug for AdmissionReview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Objects, users and options can hold secrets.
        f.debug_struct("AdmissionReview")
            .field("uid", &self.uid())
            .field("operation", &self.operation)
            .field("kind", &self.kind())
            .field("namespace", &self.namespace())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// Reads an object where the reader stands, and says where its members are if it looked.
type Objects<'o> = dyn FnMut(Which, &mut Reader<'_>) -> Result<Members, JsonError> + 'o;

/// A text of the envelope: a part of the body, or decoded if it had escapes.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    Span(Range<usize>),
    Decoded(Box<str>),
}

impl Text {
    pub(crate) fn within<'s>(&'s self, body: &'s str) -> &'s str {
        match self {
            Self::Span(span) => &body[span.clone()],
            Self::Decoded(text) => text,
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::Span(0..0)
    }
}

/// The fields of a request, as they were found.
#[derive(Clone, Default)]
struct Envelope {
    uid: Text,
    operation: Option<Operation>,
    kind: [Text; 3],
    resource: [Text; 3],
    sub_resource: Text,
    request_kind: Option<[Text; 3]>,
    request_resource: Option<[Text; 3]>,
    request_sub_resource: Text,
    name: Text,
    namespace: Text,
    dry_run: bool,
    user_info: Option<Range<usize>>,
    object: Option<Range<usize>>,
    members: Members,
    old_object: Option<Range<usize>>,
    options: Option<Range<usize>>,
}

impl Envelope {
    fn read(body: &str, objects: &mut Objects<'_>) -> Result<(Version, Self), ReadError> {
        let mut reader = Reader::new(body);
        let reader = &mut reader;
        let (mut api_version, mut kind, mut request) = (Text::default(), Text::default(), None);
        reader.expect(b'{', "an object")?;
        let mut more = reader.has_members(b'}');
        while more {
            let key = reader.key()?;
            match &*reader.text(key) {
                "apiVersion" => read_text(reader, &mut api_version)?,
                "kind" => read_text(reader, &mut kind)?,
                "request" if reader.is_null()? => request = None,
                "request" => request
                    .get_or_insert_with(Self::default)
                    .fields(reader, objects)?,
                _ => drop(reader.skip()?),
            }
            more = reader.has_more(b'}')?;
        }
        reader.end()?;
        let (api_version, kind) = (api_version.within(body), kind.within(body));
        match Version::parse(api_version) {
            Some(version) if kind == "AdmissionReview" => {
                Ok((version, request.ok_or(ReadError::NoRequest)?))
            }
            _ => Err(ReadError::NotAReview {
                api_version: printable(short(api_version)).to_string(),
                kind: printable(short(kind)).to_string(),
            }),
        }
    }

    fn fields(
        &mut self,
        reader: &mut Reader<'_>,
        objects: &mut Objects<'_>,
    ) -> Result<(), JsonError> {
        reader.expect(b'{', "an object")?;
        let mut more = reader.has_members(b'}');
        while more {
            let key = reader.key()?;
            match reader.borrowed(key) {
                "uid" => read_text(reader, &mut self.uid)?,
                "kind" => self.kind = names(reader, "kind")?.unwrap_or_default(),
                "resource" => self.resource = names(reader, "resource")?.unwrap_or_default(),
                "subResource" => read_text(reader, &mut self.sub_resource)?,
                "requestKind" => self.request_kind = names(reader, "kind")?,
                "requestResource" => self.request_resource = names(reader, "resource")?,
                "requestSubResource" => read_text(reader, &mut self.request_sub_resource)?,
                "name" => read_text(reader, &mut self.name)?,
                "namespace" => read_text(reader, &mut self.namespace)?,
                "operation" => {
                    reader.expect(b'"', "a string")?;
                    let operation = reader.string()?;
                    self.operation = Operation::parse(reader.borrowed(operation));
                }
                "userInfo" => self.user_info = span(reader)?,
                "options" => self.options = span(reader)?,
                "dryRun" => {
                    if !reader.is_null()? {
                        self.dry_run = reader.peek() == Some(b't');
                        reader.word(if self.dry_run { "true" } else { "false" })?;
                    }
                }
                "object" => (self.object, self.members) = object(reader, Which::Object, objects)?,
                "oldObject" => (self.old_object, _) = object(reader, Which::OldObject, objects)?,
                _ => drop(reader.skip()?),
            }
            more = reader.has_more(b'}')?;
        }
        Ok(())
    }
}

fn object(
    reader: &mut Reader<'_>,
    which: Which,
    objects: &mut Objects<'_>,
) -> Result<(Option<Range<usize>>, Members), JsonError> {
    if reader.is_null()? {
        return Ok((None, Members::default()));
    }
    let start = reader.offset();
    let members = objects(which, reader)?;
    Ok((Some(start..reader.offset()), members))
}

fn span(reader: &mut Reader<'_>) -> Result<Option<Range<usize>>, JsonError> {
    if reader.is_null()? {
        return Ok(None);
    }
    let start = reader.offset();
    reader.skip()?;
    Ok(Some(start..reader.offset()))
}

/// The beginning of what a body says that it is.
pub(crate) fn short(name: &str) -> &str {
    let end = name
        .char_indices()
        .nth(100)
        .map_or(name.len(), |(end, _)| end);
    &name[..end]
}

/// Whether a string can identify a call: it is repeated in the answer and in the log.
pub(crate) fn is_uid(text: &str) -> bool {
    text.len() <= 256 && !text.contains(char::is_control)
}

/// Reads a string; null leaves what was there, as in Go.
pub(crate) fn read_text(reader: &mut Reader<'_>, text: &mut Text) -> Result<(), JsonError> {
    if reader.is_null()? {
        return Ok(());
    }
    reader.expect(b'"', "a string")?;
    let start = reader.offset();
    *text = match reader.string()? {
        Some(_) => Text::Span(start..reader.offset() - 1),
        None => Text::Decoded(reader.decoded().into()),
    };
    Ok(())
}

/// A group, a version and a third name.
fn names(reader: &mut Reader<'_>, third: &str) -> Result<Option<[Text; 3]>, JsonError> {
    if reader.is_null()? {
        return Ok(None);
    }
    let mut names = <[Text; 3]>::default();
    reader.expect(b'{', "an object")?;
    let mut more = reader.has_members(b'}');
    while more {
        let key = reader.key()?;
        match reader.borrowed(key) {
            "group" => read_text(reader, &mut names[0])?,
            "version" => read_text(reader, &mut names[1])?,
            key if key == third => read_text(reader, &mut names[2])?,
            _ => drop(reader.skip()?),
        }
        more = reader.has_more(b'}')?;
    }
    Ok(Some(names))
}
