//! Label selectors of webhook configurations.

/// A label selector. The empty one selects everything.
///
/// ```
/// use kubewright_webhook::Selector;
///
/// let injected = Selector::label("sidecar-injection", "enabled").without("kubernetes.io/metadata.name", ["kube-system"]);
/// assert_eq!(injected.requirements().len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Selector(Vec<Requirement>);

/// One requirement of a selector; all have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "these are all the requirements that Kubernetes has"
)]
pub enum Requirement {
    /// The label has exactly this value (`matchLabels`).
    Is(String, String),
    /// The label has one of these values.
    In(String, Vec<String>),
    /// The label is missing, or has none of these values.
    NotIn(String, Vec<String>),
    /// The label is there.
    Exists(String),
    /// The label is missing.
    DoesNotExist(String),
}

impl Selector {
    /// Selects everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects what has a label with exactly this value.
    pub fn label(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self::default().and_label(key, value)
    }

    /// Selects what has none of these values in a label, or lacks the label.
    pub fn not_in<V: Into<String>>(
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self::default().without(key, values)
    }

    /// Also requires a label with exactly this value.
    pub fn and_label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push(Requirement::Is(key.into(), value.into()));
        self
    }

    /// Also requires one of these values in a label.
    pub fn and_in<V: Into<String>>(
        mut self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.0.push(Requirement::In(
            key.into(),
            values.into_iter().map(Into::into).collect(),
        ));
        self
    }

    /// Also requires that a label has none of these values, or is missing.
    pub fn without<V: Into<String>>(
        mut self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.0.push(Requirement::NotIn(
            key.into(),
            values.into_iter().map(Into::into).collect(),
        ));
        self
    }

    /// Also requires a label, whatever its value.
    pub fn exists(mut self, key: impl Into<String>) -> Self {
        self.0.push(Requirement::Exists(key.into()));
        self
    }

    /// Also requires that a label is missing.
    pub fn does_not_exist(mut self, key: impl Into<String>) -> Self {
        self.0.push(Requirement::DoesNotExist(key.into()));
        self
    }

    /// All requirements, in the order in which they were added.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
