//! Environments by the place of an expression in the API and by the version of the API server.

use crate::declared::Declared;
use crate::environment::Environment;
use crate::types::Type;
use crate::version::Version;

/// A place in the API where expressions are written. It decides which variables an expression has.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Place<'d> {
    /// `matchConditions` of webhooks, and of policies without `paramKind`: `object`, `oldObject`, `request`, `namespaceObject` and
    /// `authorizer`.
    MatchConditions,
    /// The expressions of a ValidatingAdmissionPolicy: as match conditions, and `variables`, and `params` if the policy has a
    /// `paramKind`. A [`Composition`](crate::Composition) declares the variables of `spec.variables`.
    ValidatingPolicy {
        /// Whether the policy has a `paramKind`.
        params: bool,
    },
    /// `messageExpression` of a ValidatingAdmissionPolicy: as the policy, without `authorizer`.
    MessageExpression {
        /// Whether the policy has a `paramKind`.
        params: bool,
    },
    /// `mutations` of a MutatingAdmissionPolicy: as a validating policy, with the types `Object` and `JSONPatch` and the function
    /// `jsonpatch.escapeKey`.
    MutatingPolicy {
        /// Whether the policy has a `paramKind`.
        params: bool,
    },
    /// `selectors` of ResourceClaims and DeviceClasses, the API of dynamic resource allocation: `device`, and the macro `cel.bind`.
    DeviceSelector,
    /// `x-kubernetes-validations` in the schema of a custom resource: `self` and `oldSelf`, of the type in the schema.
    CustomResourceRule {
        /// The schema that the rule is in, as [`Declared::from_schema`] reads it.
        schema: &'d Declared,
        /// Whether `oldSelf` is an optional value: `optionalOldSelf` of the rule.
        optional_old_self: bool,
    },
}

impl Environment {
    /// The environment that an API server of a version compiles new expressions in.
    ///
    /// An expression that compiles here can be stored by that API server. It has the functions of the version before, so that
    /// expressions outlive a rollback by one version; that is the default of `--min-compatibility-version`.
    ///
    /// ```
    /// use kubewright_cel::{Environment, Place, Version};
    ///
    /// let expression = "object.spec.containers.map(c, c.name).distinct().size() == 1";
    /// let place = Place::MatchConditions;
    /// assert!(Environment::new_expressions(place, Version::V1_35).compile(expression).is_ok());
    /// // Kubernetes 1.34 introduced `distinct`.
    /// assert!(Environment::new_expressions(place, Version::V1_34).compile(expression).is_err());
    /// ```
    ///
    /// Each place has its own variables:
    ///
    /// ```
    /// use kubewright_cel::{Declared, Environment, Place, Version};
    /// use serde_json::json;
    ///
    /// let compiles = |place, expression| {
    ///     Environment::new_expressions(place, Version::default()).compile(expression).is_ok()
    /// };
    /// assert!(compiles(Place::MatchConditions, "request.operation == 'CREATE'"));
    /// assert!(compiles(Place::ValidatingPolicy { params: true }, "object.spec.replicas <= params.maxReplicas"));
    /// assert!(compiles(Place::MutatingPolicy { params: false }, "Object{spec: Object.spec{paused: true}}"));
    /// assert!(compiles(
    ///     Place::DeviceSelector,
    ///     "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('10Gi'))",
    /// ));
    ///
    /// let schema = Declared::from_schema("Backup", &json!({
    ///     "type": "object",
    ///     "properties": {"keep": {"type": "integer"}},
    /// }))?;
    /// let rule = Place::CustomResourceRule { schema: &schema, optional_old_self: false };
    /// assert!(compiles(rule, "self.keep >= oldSelf.keep"));
    /// assert!(!compiles(rule, "self.kept > 0"));
    /// # Ok::<(), kubewright_cel::SchemaError>(())
    /// ```
    pub fn new_expressions(place: Place<'_>, version: Version) -> Self {
        Self::of(place, version, version.minor() - 1)
    }

    /// The environment that an API server of a version compiles stored expressions in, for evaluation. It has all functions of that
    /// version.
    ///
    /// ```
    /// use kubewright_cel::{Environment, Place, Version};
    ///
    /// let expression = "request.userInfo.groups.includes('system:masters')";
    /// let (place, version) = (Place::MatchConditions, Version::V1_37);
    /// // Kubernetes 1.37 introduced `includes`: it evaluates the function, but does not store new uses of it yet.
    /// assert!(Environment::stored_expressions(place, version).compile(expression).is_ok());
    /// assert!(Environment::new_expressions(place, version).compile(expression).is_err());
    /// ```
    pub fn stored_expressions(place: Place<'_>, version: Version) -> Self {
        Self::of(place, version, version.minor())
    }

    fn of(place: Place<'_>, version: Version, libraries: u32) -> Self {
        let base = Self::with_libraries(libraries);
        match place {
            Place::MatchConditions => base.with_admission(),
            Place::ValidatingPolicy { params } => base.with_policy(params),
            Place::MessageExpression { params } => base.with_policy(params).without_authorizer(),
            Place::MutatingPolicy { params } => base.with_policy(params).with_patches(),
            Place::DeviceSelector => base.with_device(version, libraries),
            Place::CustomResourceRule {
                schema,
                optional_old_self,
            } => base.with_rule(schema, optional_old_self),
        }
    }

    fn with_policy(self, params: bool) -> Self {
        let environment = self.with_admission().with_composed_variables([]);
        if params {
            environment.with_variable("params", Type::Dyn)
        } else {
            environment
        }
    }

    /// Takes the authorizer away, which message expressions do not have.
    pub(crate) fn without_authorizer(self) -> Self {
        self.without_variable("authorizer")
            .without_variable("authorizer.requestResource")
    }

    fn with_device(self, version: Version, libraries: u32) -> Self {
        let by_domain = |value| Type::map(Type::String, Type::map(Type::String, value));
        let fields = [
            ("driver", Type::String),
            ("attributes", by_domain(Type::Dyn)),
            ("capacity", by_domain(Type::object("kubernetes.Quantity"))),
        ];
        // A field of the feature gate DRAConsumableCapacity, which 1.36 enables by default.
        let shared =
            (version >= Version::V1_36).then_some(("allowMultipleAllocations", Type::Bool));
        let base = if libraries >= BINDINGS {
            self.with_bindings()
        } else {
            self
        };
        base.with_object_type(DEVICE, fields.into_iter().chain(shared))
            .with_variable("device", Type::object(DEVICE))
    }

    fn with_rule(self, schema: &Declared, optional_old_self: bool) -> Self {
        let Some(of) = schema.value_type.clone() else {
            return self;
        };
        let old = if optional_old_self {
            Type::optional(of.clone())
        } else {
            of.clone()
        };
        self.with_declared_types(schema)
            .with_variable("self", of)
            .with_variable("oldSelf", old)
    }
}

const DEVICE: &str = "kubernetes.DRADevice";
/// The minor version of Kubernetes that introduced `cel.bind` in selectors of devices.
const BINDINGS: u32 = 31;
