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

/// One requirement of a selector. An object has to meet all of them.
///
/// ```
/// use kubewright_webhook::{Requirement, Selector};
///
/// let selector = Selector::label("tier", "web").exists("team");
/// assert_eq!(selector.requirements(), [
///     Requirement::Is("tier".into(), "web".into()),
///     Requirement::Exists("team".into()),
/// ]);
/// ```
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
    ///
    /// ```
    /// use kubewright_webhook::Selector;
    ///
    /// assert!(Selector::everything().is_empty());
    /// assert!(!Selector::everything().exists("team").is_empty());
    /// ```
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects objects that have a label with exactly this value.
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::label("sidecar", "enabled");
    /// assert_eq!(selector.requirements(), [Requirement::Is("sidecar".into(), "enabled".into())]);
    /// ```
    pub fn label(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self::default().and_label(key, value)
    }

    /// Selects objects whose label has none of these values, or that lack the label.
    ///
    /// API servers label every namespace with its name, so this excludes namespaces by name:
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::not_in("kubernetes.io/metadata.name", ["kube-system"]);
    /// let [Requirement::NotIn(key, values)] = selector.requirements() else { panic!() };
    /// assert_eq!(key, "kubernetes.io/metadata.name");
    /// assert_eq!(values, &["kube-system"]);
    /// ```
    pub fn not_in<V: Into<String>>(
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self::default().without(key, values)
    }

    /// Also requires a label with exactly this value.
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::label("tier", "web").and_label("stage", "production");
    /// assert_eq!(selector.requirements()[1], Requirement::Is("stage".into(), "production".into()));
    /// ```
    pub fn and_label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push(Requirement::Is(key.into(), value.into()));
        self
    }

    /// Also requires one of these values in a label.
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::everything().and_in("stage", ["staging", "production"]);
    /// let expected = Requirement::In("stage".into(), vec!["staging".into(), "production".into()]);
    /// assert_eq!(selector.requirements(), [expected]);
    /// ```
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
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::label("tier", "web").without("stage", ["test"]);
    /// assert_eq!(selector.requirements()[1], Requirement::NotIn("stage".into(), vec!["test".into()]));
    /// ```
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

    /// Also requires a label, with any value.
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::everything().exists("team");
    /// assert_eq!(selector.requirements(), [Requirement::Exists("team".into())]);
    /// ```
    pub fn exists(mut self, key: impl Into<String>) -> Self {
        self.0.push(Requirement::Exists(key.into()));
        self
    }

    /// Also requires that a label is missing. This is how a webhook lets objects opt out.
    ///
    /// ```
    /// use kubewright_webhook::{Requirement, Selector};
    ///
    /// let selector = Selector::everything().does_not_exist("policy.example.com/skip");
    /// assert_eq!(selector.requirements(), [Requirement::DoesNotExist("policy.example.com/skip".into())]);
    /// ```
    pub fn does_not_exist(mut self, key: impl Into<String>) -> Self {
        self.0.push(Requirement::DoesNotExist(key.into()));
        self
    }

    /// Returns all requirements, in the order in which they were added.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Returns whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
