//! A JSON Patch (RFC 6902), written straight to bytes.

use serde::Deserialize;

use crate::Body;
use crate::json::write_string;

/// A JSON Patch. [`AdmissionReview::graft`](crate::AdmissionReview::graft) makes one.
///
/// ```
/// use kubewright_review::Patch;
///
/// let nothing = Patch::default();
/// assert!(nothing.is_empty());
/// assert_eq!(nothing.to_json(), b"[]");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Patch {
    /// The operations without the brackets around them.
    operations: Vec<u8>,
    count: usize,
    /// The body whose object all of it was made for.
    body: Option<Body>,
}

/// What reports say of an operation.
#[derive(Deserialize)]
struct Operation {
    path: String,
}

impl PartialEq for Patch {
    fn eq(&self, other: &Self) -> bool {
        self.operations == other.operations
    }
}

impl Eq for Patch {}

impl Patch {
    /// Returns whether it changes nothing.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let review = review("CREATE", r#""object":{"size":1}"#);
    /// let one = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let two = Image::of(&serde_json::json!({"size": 2}), 0)?;
    /// assert!(review.graft(&one, &one)?.is_empty());
    /// assert!(!review.graft(&one, &two)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of operations.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let review = review("CREATE", r#""object":{"size":1,"color":"red"}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1, "color": "red"}), 0)?;
    /// let after = Image::of(&serde_json::json!({"size": 2}), 0)?;
    /// assert_eq!(review.graft(&before, &after)?.len(), 2, "one replaces the size, one removes the color");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns the length of its JSON in bytes.
    ///
    /// ```
    /// use kubewright_review::Patch;
    ///
    /// assert_eq!(Patch::default().size(), Patch::default().to_json().len());
    /// ```
    pub fn size(&self) -> usize {
        self.operations.len() + "[]".len()
    }

    /// Appends the operations of another patch.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let review = review("CREATE", r#""object":{"size":1}"#);
    /// let sizes = [1, 2, 3].map(|size| Image::of(&serde_json::json!({"size": size}), 0).unwrap());
    /// let mut patch = review.graft(&sizes[0], &sizes[1])?;
    /// patch.append(&review.changed_by(&patch)?.graft(&sizes[1], &sizes[2])?);
    /// assert_eq!(patch.len(), 2);
    /// assert_eq!(review.changed_by(&patch)?.object(), Some(r#"{"size":3}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append(&mut self, other: &Self) {
        if self.count > 0 && other.count > 0 {
            self.operations.push(b',');
            // The other one was made for the object as this one leaves it.
            self.body = None;
        } else if self.count == 0 {
            self.body.clone_from(&other.body);
        }
        self.operations.extend_from_slice(&other.operations);
        self.count += other.count;
    }

    /// Returns the patch as JSON: a list, which is empty if it changes nothing.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let review = review("CREATE", r#""object":{"size":1}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let after = Image::of(&serde_json::json!({"size": 1, "color": "red"}), 0)?;
    /// let patch = review.graft(&before, &after)?;
    /// assert_eq!(patch.to_json(), br#"[{"op":"add","path":"/color","value":"red"}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(self.operations.len() + 2);
        json.push(b'[');
        json.extend_from_slice(&self.operations);
        json.push(b']');
        json
    }

    /// Returns the paths of its operations, in their order. They have the names of fields and the keys of maps, and no values.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Image;
    ///
    /// let review = review("CREATE", r#""object":{"size":1,"color":"red"}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1, "color": "red"}), 0)?;
    /// let after = Image::of(&serde_json::json!({"size": 2}), 0)?;
    /// let mut paths = review.graft(&before, &after)?.paths();
    /// paths.sort();
    /// assert_eq!(paths, ["/color", "/size"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn paths(&self) -> Vec<String> {
        // The operations are JSON that this crate has written.
        let operations: Vec<Operation> =
            serde_json::from_slice(&self.to_json()).unwrap_or_default();
        operations
            .into_iter()
            .map(|operation| operation.path)
            .collect()
    }

    /// Notes that it was made for the object in a body.
    pub(crate) fn made_for(&mut self, body: &Body) {
        self.body = Some(body.clone());
    }

    /// Whether it was made for the object in this body, so that it fits.
    pub(crate) fn is_made_for(&self, body: &Body) -> bool {
        self.body.as_ref().is_some_and(|own| own.is(body))
    }

    /// Starts an operation that has a value, which the caller writes before [`Patch::end`].
    pub(crate) fn begin(&mut self, operation: &str, path: &Pointer) -> &mut Vec<u8> {
        self.start(operation, path);
        self.operations.extend_from_slice(b",\"value\":");
        &mut self.operations
    }

    pub(crate) fn end(&mut self) {
        self.operations.push(b'}');
    }

    pub(crate) fn remove(&mut self, path: &Pointer) {
        self.start("remove", path);
        self.end();
    }

    pub(crate) fn relocate(&mut self, from: &Pointer, path: &Pointer) {
        self.start("move", path);
        self.operations.extend_from_slice(b",\"from\":");
        write_string(&mut self.operations, &from.0);
        self.end();
    }

    /// Where the patch ends now, so that an operation can be taken back.
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.operations.len(), self.count)
    }

    pub(crate) fn take_back(&mut self, (length, count): (usize, usize)) {
        self.operations.truncate(length);
        self.count = count;
    }

    fn start(&mut self, operation: &str, path: &Pointer) {
        if self.count > 0 {
            self.operations.push(b',');
        }
        self.count += 1;
        self.operations.extend_from_slice(b"{\"op\":\"");
        self.operations.extend_from_slice(operation.as_bytes());
        self.operations.extend_from_slice(b"\",\"path\":");
        write_string(&mut self.operations, &path.0);
    }
}

/// A JSON Pointer (RFC 6901).
#[derive(Clone, Debug, Default)]
pub(crate) struct Pointer(String);

impl Pointer {
    /// Goes one level deeper, and gives what brings it back up.
    pub(crate) fn enter(&mut self, key: &str) -> Above {
        let above = Above(self.0.len());
        self.0.push('/');
        for character in key.chars() {
            match character {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
        above
    }

    /// Goes to a position of a list.
    pub(crate) fn enter_at(&mut self, index: usize) -> Above {
        self.enter(&index.to_string())
    }

    /// Goes back up.
    pub(crate) fn leave(&mut self, Above(length): Above) {
        self.0.truncate(length);
    }
}

/// Where a pointer was before it went deeper.
#[must_use]
pub(crate) struct Above(usize);
