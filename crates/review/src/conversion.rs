//! ConversionReview on the wire: the envelope read in one pass, the objects kept as text.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;

use crate::body::Body;
use crate::decode::{DecodeError, decode};
use crate::json::{JsonError, Reader, write_string};
use crate::printable;
use crate::request::{Text, is_uid, read_text, short};

/// The version of the conversion protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConversionVersion {
    /// `apiextensions.k8s.io/v1`.
    V1,
    /// `apiextensions.k8s.io/v1beta1`, which API servers before 1.22 knew.
    V1Beta1,
}

impl ConversionVersion {
    /// Returns the version as `conversionReviewVersions` spells it.
    ///
    /// ```
    /// use kubewright_review::ConversionVersion;
    ///
    /// assert_eq!(ConversionVersion::V1.as_str(), "v1");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }

    /// Returns the group and version as `apiVersion` spells them.
    ///
    /// ```
    /// use kubewright_review::ConversionVersion;
    ///
    /// assert_eq!(ConversionVersion::V1.api_version(), "apiextensions.k8s.io/v1");
    /// ```
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1Beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }

    fn parse(api_version: &str) -> Option<Self> {
        [Self::V1, Self::V1Beta1]
            .into_iter()
            .find(|version| version.api_version() == api_version)
    }
}

/// The reason why a body is not a request to convert objects.
///
/// ```
/// use kubewright_review::{Body, ConversionReadError, ConversionReview};
///
/// let body = br#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"7"}}"#;
/// let error = ConversionReview::read(&Body::new(body.to_vec()).unwrap()).err();
/// assert_eq!(error, Some(ConversionReadError::NoVersion));
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConversionReadError {
    /// The body is not JSON, or a field has another type than the protocol says.
    #[error("the body is not the JSON of a ConversionReview: {0}")]
    NotJson(String),
    /// The body is JSON, but not a ConversionReview of a version that is known.
    #[error(
        "the body is kind `{kind}` of `{api_version}`, not a ConversionReview of `apiextensions.k8s.io/v1` or `apiextensions.k8s.io/v1beta1`"
    )]
    NotAReview {
        /// The `apiVersion` of the body.
        api_version: String,
        /// The `kind` of the body.
        kind: String,
    },
    /// The review has no request.
    #[error("the ConversionReview has no request")]
    NoRequest,
    /// The request has no uid.
    #[error("the request of the ConversionReview has no uid")]
    NoUid,
    /// The request has a uid that is no UID: it is too long, or has a control character.
    #[error(
        "the request of the ConversionReview has a uid of {0} bytes that no API server sends: a UID has at most 256, and no control characters"
    )]
    Uid(usize),
    /// The request does not say which version is wanted.
    #[error("the request of the ConversionReview has no desiredAPIVersion")]
    NoVersion,
}

impl From<JsonError> for ConversionReadError {
    fn from(error: JsonError) -> Self {
        Self::NotJson(printable(&error.to_string()).to_string())
    }
}

/// The request of a ConversionReview.
///
/// Of a field that comes twice the last one counts, as for the API server itself.
///
/// ```
/// use kubewright_review::{Body, ConversionReview};
///
/// let body = br#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u",
///     "desiredAPIVersion":"example.com/v2","objects":[{"apiVersion":"example.com/v1","kind":"Widget"}]}}"#;
/// let review = ConversionReview::read(&Body::new(body.to_vec())?)?;
/// assert_eq!(review.desired_api_version(), "example.com/v2");
///
/// let answer = review.converted([r#"{"apiVersion":"example.com/v2","kind":"Widget"}"#]);
/// # let answer = String::from_utf8(answer)?;
/// assert!(answer.contains(r#""uid":"u","convertedObjects":[{"apiVersion":"example.com/v2","#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ConversionReview {
    body: Body,
    version: ConversionVersion,
    envelope: Envelope,
}

impl ConversionReview {
    /// Reads the body of a webhook call. The objects are only stepped over.
    ///
    /// ```
    /// use kubewright_review::{Body, ConversionReview};
    ///
    /// let body = br#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"7",
    ///     "desiredAPIVersion":"example.com/v2","objects":[{"kind":"Widget"},{"kind":"Widget"}]}}"#;
    /// let review = ConversionReview::read(&Body::new(body.to_vec()).unwrap())?;
    /// assert_eq!(review.count(), 2);
    /// assert_eq!(review.object(1), Some(r#"{"kind":"Widget"}"#));
    /// assert_eq!(review.object(2), None);
    /// # Ok::<(), kubewright_review::ConversionReadError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the body is not a request to convert objects.
    pub fn read(body: &Body) -> Result<Self, ConversionReadError> {
        let (version, envelope) = Envelope::read(body.text())?;
        let this = Self {
            body: body.clone(),
            version,
            envelope,
        };
        if this.uid().is_empty() {
            return Err(ConversionReadError::NoUid);
        }
        if !is_uid(this.uid()) {
            return Err(ConversionReadError::Uid(this.uid().len()));
        }
        if this.desired_api_version().is_empty() {
            return Err(ConversionReadError::NoVersion);
        }
        Ok(this)
    }

    /// Returns the version of the protocol, which the answer has to have too.
    pub fn version(&self) -> ConversionVersion {
        self.version
    }

    /// Returns the UID of this call, which the answer repeats.
    pub fn uid(&self) -> &str {
        self.envelope.uid.within(self.body.text())
    }

    /// Returns the group and version to convert the objects to.
    pub fn desired_api_version(&self) -> &str {
        self.envelope.desired.within(self.body.text())
    }

    /// Returns the number of objects.
    pub fn count(&self) -> usize {
        self.envelope.objects.len()
    }

    /// Returns an object as JSON, or `None` if there are fewer.
    pub fn object(&self, index: usize) -> Option<&str> {
        let span = self.envelope.objects.get(index)?;
        Some(&self.body.text()[span.clone()])
    }

    /// Returns the answer with the converted objects, each as JSON and in the order of the request.
    ///
    /// ```
    /// use kubewright_review::{Body, ConversionReview};
    ///
    /// let body = br#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"7",
    ///     "desiredAPIVersion":"example.com/v2","objects":[{"apiVersion":"example.com/v1","kind":"Widget"}]}}"#;
    /// let review = ConversionReview::read(&Body::new(body.to_vec())?)?;
    /// let answer = review.converted([r#"{"apiVersion":"example.com/v2","kind":"Widget"}"#]);
    /// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    /// assert_eq!(answer["response"]["result"]["status"], "Success");
    /// assert_eq!(answer["response"]["convertedObjects"][0]["apiVersion"], "example.com/v2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn converted<T: AsRef<str>>(&self, objects: impl IntoIterator<Item = T>) -> Vec<u8> {
        let mut out = self.begin(self.body.text().len() + 256);
        out.extend_from_slice(br#","convertedObjects":["#);
        for (index, object) in objects.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(object.as_ref().as_bytes());
        }
        out.extend_from_slice(br#"],"result":{"status":"Success"}}}"#);
        out
    }

    /// Returns the answer that says why the objects cannot be converted. The API server shows it to the client.
    ///
    /// ```
    /// use kubewright_review::{Body, ConversionReview};
    ///
    /// let body = br#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"7",
    ///     "desiredAPIVersion":"example.com/v2","objects":[]}}"#;
    /// let review = ConversionReview::read(&Body::new(body.to_vec())?)?;
    /// let answer: serde_json::Value = serde_json::from_slice(&review.failed("v2 has no color"))?;
    /// assert_eq!(answer["response"]["result"]["message"], "v2 has no color");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed(&self, message: &str) -> Vec<u8> {
        let mut out = self.begin(256 + message.len());
        out.extend_from_slice(br#","convertedObjects":[],"result":{"status":"Failure","message":"#);
        write_string(&mut out, message);
        out.extend_from_slice(b"}}}");
        out
    }

    fn begin(&self, capacity: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(capacity);
        out.extend_from_slice(br#"{"apiVersion":""#);
        out.extend_from_slice(self.version.api_version().as_bytes());
        out.extend_from_slice(br#"","kind":"ConversionReview","response":{"uid":"#);
        write_string(&mut out, self.uid());
        out
    }
}

impl fmt::Debug for ConversionReview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Objects can hold secrets.
        f.debug_struct("ConversionReview")
            .field("uid", &self.uid())
            .field("desired_api_version", &self.desired_api_version())
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

/// Reads an object as its type, but for `metadata.managedFields`.
///
/// # Errors
///
/// If the text is not a `K`; the error says where, and repeats no value.
pub fn read_object<K: DeserializeOwned>(text: &str) -> Result<K, DecodeError> {
    decode(text)
}

#[derive(Clone, Default)]
struct Envelope {
    uid: Text,
    desired: Text,
    objects: Vec<Range<usize>>,
}

impl Envelope {
    fn read(body: &str) -> Result<(ConversionVersion, Self), ConversionReadError> {
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
                "request" => request.get_or_insert_with(Self::default).fields(reader)?,
                _ => {
                    reader.skip()?;
                }
            }
            more = reader.has_more(b'}')?;
        }
        reader.end()?;
        let (api_version, kind) = (api_version.within(body), kind.within(body));
        match ConversionVersion::parse(api_version) {
            Some(version) if kind == "ConversionReview" => {
                Ok((version, request.ok_or(ConversionReadError::NoRequest)?))
            }
            _ => Err(ConversionReadError::NotAReview {
                api_version: printable(short(api_version)).to_string(),
                kind: printable(short(kind)).to_string(),
            }),
        }
    }

    fn fields(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        reader.expect(b'{', "an object")?;
        let mut more = reader.has_members(b'}');
        while more {
            let key = reader.key()?;
            match reader.borrowed(key) {
                "uid" => read_text(reader, &mut self.uid)?,
                "desiredAPIVersion" => read_text(reader, &mut self.desired)?,
                "objects" => {
                    self.objects.clear();
                    if !reader.is_null()? {
                        self.list(reader)?;
                    }
                }
                _ => {
                    reader.skip()?;
                }
            }
            more = reader.has_more(b'}')?;
        }
        Ok(())
    }

    fn list(&mut self, reader: &mut Reader<'_>) -> Result<(), JsonError> {
        reader.expect(b'[', "a list")?;
        let mut more = reader.has_members(b']');
        while more {
            reader.peek();
            let start = reader.offset();
            reader.skip()?;
            self.objects.push(start..reader.offset());
            more = reader.has_more(b']')?;
        }
        Ok(())
    }
}
