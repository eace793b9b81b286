//! The minor versions of Kubernetes that introduced parts of the language.

/// IP addresses and networks, with their types.
pub(crate) const NETWORK: u32 = 30;
/// Fields that are named by words of the language without being escaped.
pub(crate) const KEYWORDS_AS_FIELDS: u32 = 31;
/// Comprehensions with two variables.
pub(crate) const TWO_VARIABLES: u32 = 32;
/// The list functions of cel-go's extension.
pub(crate) const LIST_EXTENSION: u32 = 34;

/// The macros that not every environment has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Macros {
    /// `cel.bind`.
    pub(crate) bindings: bool,
    /// `transformList` and its like, and quantifiers with two variables.
    pub(crate) two_variables: bool,
    /// `sortBy`.
    pub(crate) sort_by: bool,
}

impl Macros {
    /// The macros that every environment has by a minor version of Kubernetes.
    pub(crate) fn introduced_by(minor: u32) -> Self {
        Self {
            bindings: false,
            two_variables: minor >= TWO_VARIABLES,
            sort_by: minor >= LIST_EXTENSION,
        }
    }
}
