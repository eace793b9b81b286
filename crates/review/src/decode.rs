//! The objects of a review, read into the handler's type.

use serde::de::DeserializeOwned;

use crate::json::{JsonError, Members, Part, Reader, Typed};
use crate::{Change, Operation, printable};

/// Which object of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Object,
    OldObject,
}

/// How many levels the path of an error has at most.
const DEEPEST_PLACE: usize = 32;

/// How long the path of an error may be before no more is added, in bytes.
const LONGEST_PLACE: usize = 1024;

/// The part of an object that is read.
///
/// ```
#[doc = include_str!("request.md")]
/// use kubewright_review::Scope;
///
/// let review = review("CREATE", r#""object":{"kind":"Secret","metadata":{"name":"a"},"data":{"key":"c2VjcmV0"}}"#);
/// let change = review.decode::<serde_json::Value>(Scope::Metadata)?;
/// assert_eq!(change.into_object(), serde_json::json!({"kind": "Secret", "metadata": {"name": "a"}}));
/// # Ok::<(), kubewright_review::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Everything that the type asks for, but for `metadata.managedFields`.
    #[default]
    Object,
    /// `apiVersion`, `kind` and `metadata` only, but for `metadata.managedFields`.
    Metadata,
}

/// The reason why an object cannot be read as the handler's type.
///
/// The message never repeats a value of the object, which may be secret.
///
/// ```
/// use kubewright_review::read_object;
///
/// #[derive(Debug, serde::Deserialize)]
/// struct Password {
///     digits: [u8; 4],
/// }
///
/// let error = read_object::<Password>(r#"{"digits":[1,2,3,"four"]}"#).unwrap_err();
/// assert_eq!(error.place(), "object.digits[3]");
/// assert!(!error.to_string().contains("four"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {place}: {message}")]
pub struct DecodeError {
    place: String,
    message: String,
}

impl DecodeError {
    /// Returns the path of the field, such as `object.spec.containers[0].image`.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::Scope;
    ///
    /// #[derive(Debug, serde::Deserialize)]
    /// struct Sized {
    ///     size: u32,
    /// }
    ///
    /// let review = review("CREATE", r#""object":{"size":"big"}"#);
    /// let error = review.decode::<Sized>(Scope::Object).unwrap_err();
    /// assert_eq!(error.place(), "object.size");
    /// assert_eq!(error.to_string(), "cannot read object.size: expected u32, found string");
    /// ```
    pub fn place(&self) -> &str {
        &self.place
    }

    fn null(name: &str) -> Self {
        Self {
            place: name.to_owned(),
            message: "it is null".to_owned(),
        }
    }
}

/// Reads the objects of one review.
pub(crate) struct Decoder<K> {
    part: Part,
    object: Option<K>,
    old_object: Option<K>,
    error: Option<DecodeError>,
}

impl<K: DeserializeOwned> Decoder<K> {
    pub(crate) fn new(scope: Scope) -> Self {
        Self {
            part: match scope {
                Scope::Object => Part::Whole,
                Scope::Metadata => Part::Metadata,
            },
            object: None,
            old_object: None,
            error: None,
        }
    }

    /// Reads an object where the reader stands. One that is JSON but not a `K` is remembered and stepped over.
    pub(crate) fn read(
        &mut self,
        which: Which,
        reader: &mut Reader<'_>,
    ) -> Result<Members, JsonError> {
        reader.peek();
        let start = reader.offset();
        let mut members = Members::default();
        members.object.reserve(8);
        match K::deserialize(Typed::object(reader, self.part, &mut members)) {
            Ok(object) => match which {
                Which::Object => self.object = Some(object),
                Which::OldObject => self.old_object = Some(object),
            },
            Err(error) => {
                reader.go_to(start);
                let text = reader.skip()?;
                members = Members::default();
                let name = name(which);
                self.error.get_or_insert_with(|| DecodeError {
                    place: place(name, text, error.offset().saturating_sub(start)),
                    message: printable(error.message()).to_string(),
                });
            }
        }
        Ok(members.relative_to(start))
    }

    pub(crate) fn change(self, operation: Operation) -> Result<Change<K>, DecodeError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let needed =
            |object: Option<K>, which| object.ok_or_else(|| DecodeError::null(name(which)));
        let object = |object| needed(object, Which::Object);
        let old = |object| needed(object, Which::OldObject);
        Ok(match operation {
            Operation::Create => Change::Create(object(self.object)?),
            Operation::Update => Change::Update {
                old: old(self.old_object)?,
                new: object(self.object)?,
            },
            Operation::Delete => Change::Delete(old(self.old_object)?),
            Operation::Connect => Change::Connect(object(self.object)?),
        })
    }
}

/// Reads an object that stands alone.
pub(crate) fn decode<K: DeserializeOwned>(text: &str) -> Result<K, DecodeError> {
    let mut members = Members::default();
    let mut reader = Reader::new(text);
    K::deserialize(Typed::object(&mut reader, Part::Whole, &mut members)).map_err(|error| {
        DecodeError {
            place: place("object", text, error.offset()),
            message: printable(error.message()).to_string(),
        }
    })
}

fn name(which: Which) -> &'static str {
    match which {
        Which::Object => "object",
        Which::OldObject => "oldObject",
    }
}

/// The path of the innermost value around an offset.
#[cold]
fn place(name: &str, text: &str, offset: usize) -> String {
    let mut path = name.to_owned();
    // Text that cannot be read any more has no deeper place to name.
    let _ = descend(&mut path, text, offset);
    path
}

fn descend(path: &mut String, text: &str, offset: usize) -> Result<(), JsonError> {
    let mut reader = Reader::new(text);
    // Each level is stepped over once more, so a path has an end even if the nesting has none.
    for _ in 0..DEEPEST_PLACE {
        let object = match reader.peek() {
            Some(b'{') => true,
            Some(b'[') => false,
            _ => return Ok(()),
        };
        let close = if object { b'}' } else { b']' };
        reader.bump();
        let mut more = reader.has_members(close);
        let mut index = 0;
        let inside = loop {
            if !more {
                break None;
            }
            let step = if object {
                let key = reader.key()?;
                format!(".{}", printable(reader.borrowed(key)))
            } else {
                format!("[{index}]")
            };
            reader.peek();
            let start = reader.offset();
            reader.skip()?;
            if (start..reader.offset()).contains(&offset) {
                break Some((step, start));
            }
            more = reader.has_more(close)?;
            index += 1;
        };
        let Some((step, start)) = inside else {
            return Ok(());
        };
        // What is cut of a long key need not be cut again, but there may be several.
        if path.len() < LONGEST_PLACE {
            path.push_str(&step);
        }
        if start == offset {
            return Ok(());
        }
        reader.go_to(start);
    }
    Ok(())
}
