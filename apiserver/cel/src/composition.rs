//! Composition: the named expressions of a policy (`spec.variables`), as `pkg/admission/plugin/cel/composition.go` of the API
//! server has them.

use std::sync::Arc;

use crate::environment::Environment;
use crate::program::{CompileError, PER_EXPRESSION, Program};
use crate::types::Type;
use crate::value::Value;
use crate::variables::{Named, Variables};

const TYPE: &str = "kubernetes.variables";

/// The expressions that an admission policy names in `spec.variables`, for its other expressions to use as `variables.<name>`.
///
/// An expression can use the variables that were declared before it was compiled. A variable is evaluated at its first use in
/// an evaluation, and only then costs anything.
///
/// ```
/// use kubewright_cel::{Budget, Composition, Variables};
/// use serde_json::json;
///
/// let mut composition = Composition::new(false);
/// composition.declare("replicas", "object.spec.?replicas.orValue(1)")?;
/// composition.declare("many", "variables.replicas > 5")?;
/// let program = composition.environment().compile("!variables.many")?;
///
/// let deployment = json!({"spec": {"replicas": 7}});
/// let variables = composition.bind(Variables::new().with_json("object", &deployment));
/// let value = program.evaluate(&variables, &mut Budget::policy())?;
/// assert_eq!(value.as_bool(), Some(false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Composition {
    environment: Environment,
    /// In the order of their declaration.
    declared: Vec<Declared>,
    fields: Vec<(String, Type)>,
}

/// The name of a variable and its program, or why its expression does not compile.
type Declared = (Arc<str>, Result<Arc<Program>, CompileError>);

impl Environment {
    /// Declares `variables` with these fields.
    pub(crate) fn with_composed_variables<'f>(
        self,
        fields: impl IntoIterator<Item = (&'f str, Type)>,
    ) -> Self {
        self.with_object_type(TYPE, fields)
            .with_variable("variables", Type::object(TYPE))
    }
}

impl Composition {
    /// The environment of a policy without variables: that of [`Environment::admission`], and `params` where the policy has a
    /// `paramKind`.
    ///
    /// ```
    /// use kubewright_cel::Composition;
    ///
    /// assert!(Composition::new(true).environment().compile("params.data.team == 'a'").is_ok());
    /// assert!(Composition::new(false).environment().compile("params.data.team == 'a'").is_err());
    /// ```
    pub fn new(params: bool) -> Self {
        let mut environment = Environment::admission().clone();
        if params {
            environment = environment.with_variable("params", Type::Dyn);
        }
        Self::in_environment(environment)
    }

    /// The same in another environment, such as one in which `object` has the type of a kind.
    ///
    /// ```
    /// use kubewright_cel::{Composition, Environment, Type};
    ///
    /// let environment = Environment::admission()
    ///     .clone()
    ///     .with_object_type("Backup", [("keep", Type::Int)])
    ///     .with_variable("object", Type::object("Backup"));
    /// let mut composition = Composition::in_environment(environment);
    /// composition.declare("keep", "object.keep")?;
    /// assert!(composition.environment().compile("variables.keep == 'a'").is_err());
    /// # Ok::<(), kubewright_cel::CompileError>(())
    /// ```
    pub fn in_environment(environment: Environment) -> Self {
        Self {
            environment: environment.with_composed_variables([]),
            declared: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Declares a variable. One whose expression does not compile is declared too, as `dyn`: expressions that use it compile,
    /// and fail.
    ///
    /// # Errors
    /// As for [`Environment::compile`].
    pub fn declare(&mut self, name: &str, expression: &str) -> Result<(), CompileError> {
        let program = self.environment.compile(expression).map(Arc::new);
        let of = match &program {
            Ok(program) => composable(program.output_type()),
            Err(_) => Type::Dyn,
        };
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), of));
        let fields = self.fields.iter();
        let fields = fields.map(|(name, of)| (name.as_str(), of.clone()));
        self.environment = self.environment.clone().with_composed_variables(fields);
        self.declared.retain(|(known, _)| **known != *name);
        self.declared.push((name.into(), program.clone()));
        program.map(drop)
    }

    /// The programs of the variables, in the order of their declaration; none for one that does not compile.
    pub fn programs(&self) -> impl Iterator<Item = Option<&Program>> {
        let declared = self.declared.iter();
        declared.map(|(_, program)| program.as_ref().ok().map(|program| &**program))
    }

    /// The environment with the variables declared so far.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The environment of message expressions, which have no authorizer.
    ///
    /// ```
    /// use kubewright_cel::Composition;
    ///
    /// let expression = "authorizer.path('/healthz').check('get').allowed()";
    /// assert!(Composition::new(false).environment().compile(expression).is_ok());
    /// assert!(Composition::new(false).message_environment().compile(expression).is_err());
    /// ```
    pub fn message_environment(&self) -> Environment {
        self.environment.clone().without_authorizer()
    }

    /// Adds `variables` to the variables of a request. Each is evaluated once for what this returns.
    pub fn bind<'a>(&'a self, mut request: Variables<'a>) -> Variables<'a> {
        request.compose(self, self.declared.len());
        request
    }
}

/// The type of a variable with a value of this type, as `convertCelTypeToDeclType` of the API server has it: simple types,
/// lists and maps of them, and `dyn` for all others.
fn composable(of: &Type) -> Type {
    match of {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => of.clone(),
        Type::List(element) => Type::list(composable(element)),
        Type::Map(entry) => Type::map(composable(&entry.0), composable(&entry.1)),
        _ => Type::Dyn,
    }
}

impl Named for Composition {
    fn position(&self, name: &str) -> Option<usize> {
        self.declared.iter().position(|(known, _)| **known == *name)
    }

    fn evaluate<'a>(
        &'a self,
        index: usize,
        variables: &Variables<'a>,
    ) -> (Result<Value<'a>, String>, u64) {
        let (name, program) = &self.declared[index];
        match program {
            Ok(program) => {
                let (value, cost) = program.run(variables, PER_EXPRESSION);
                let failed =
                    |why| format!("composited variable \"{name}\" fails to evaluate: {why}");
                (value.map_err(failed), cost)
            }
            Err(why) => {
                let why = format!("composited variable \"{name}\" fails to compile: {why}");
                (Err(why), 0)
            }
        }
    }
}
