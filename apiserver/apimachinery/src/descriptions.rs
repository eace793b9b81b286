//! Descriptions of all types and fields, from a generated table that is indexed on first use.
//!
//! ```
//! use kubewright_apimachinery::descriptions::Descriptions;
//!
//! let pod = Descriptions::of("api.core.v1.Pod");
//! assert!(pod.own().starts_with("Pod is a collection of containers"));
//! assert!(pod.field("status").starts_with("Most recently observed status of the pod"));
//! ```

use std::sync::LazyLock;

/// The generated table: one block per type, with one line per field.
pub const TABLE: &str = include_str!("descriptions.txt");

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";

const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// The descriptions of one type and of its fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptions {
    own: &'static str,
    /// One line per field, by name.
    fields: &'static str,
}

impl Descriptions {
    /// The descriptions of a type; empty for an unknown type.
    pub fn of(ty: &str) -> Self {
        static INDEX: LazyLock<Vec<(&str, Descriptions)>> = LazyLock::new(|| {
            let blocks = TABLE.split("\n\ntype ").skip(1);
            blocks
                .map(|block| {
                    let (name, lines) = block.split_once('\n').unwrap_or((block, ""));
                    let (own, fields) = lines.split_once('\n').unwrap_or((lines, ""));
                    (name, Descriptions { own, fields })
                })
                .collect()
        });
        INDEX
            .binary_search_by(|(name, _)| (*name).cmp(ty))
            .map_or_else(|_| Self::default(), |at| INDEX[at].1)
    }

    /// The description of the type; empty if it has none.
    pub fn own(self) -> String {
        unescaped(self.own)
    }

    /// The description of a field; empty if it has none.
    pub fn field(self, name: &str) -> String {
        let found = self.fields.lines().find_map(|line| {
            let (field, text) = line.split_once('\t')?;
            (field == name).then_some(text)
        });
        match (found, name) {
            (Some(text), _) => unescaped(text),
            (None, "apiVersion") => API_VERSION.to_owned(),
            (None, "kind") => KIND.to_owned(),
            (None, _) => String::new(),
        }
    }
}

/// Decodes the escapes of generated tables: `\\n` for a line break, and two backslashes for one.
pub fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('\\') {
        out.push_str(head);
        if let Some(tail) = tail.strip_prefix('n') {
            out.push('\n');
            rest = tail;
        } else {
            out.push('\\');
            rest = tail.strip_prefix('\\').unwrap_or(tail);
        }
    }
    out.push_str(rest);
    out
}

/// Returns the description of a field of `ObjectMeta`.
pub fn of_metadata(field: &str) -> String {
    Descriptions::of("apimachinery.pkg.apis.meta.v1.ObjectMeta").field(field)
}
