//! Environments: the variables, object types and functions that an expression can use.

use std::sync::Arc;

use crate::checker;
use crate::declarations::{Declarations, JSON_PATCH};
use crate::declared::Declared;
use crate::estimate;
use crate::introduced::Macros;
use crate::library::Functions;
use crate::parser;
use crate::plan;
use crate::program::{CompileError, OutputError, Program};
use crate::types::Type;
use crate::version::Version;

/// The variables, types and functions that expressions can use.
///
/// An environment is made once and compiles any number of expressions. It is cheap to clone: a clone with one more variable
/// shares the functions with the original.
///
/// ```
/// use kubewright_cel::{Environment, Type};
///
/// let environment = Environment::kubernetes().with_variable("name", Type::String);
/// let program = environment.compile("name.startsWith('kube-')")?;
/// assert_eq!(*program.output_type(), Type::Bool);
///
/// let error = environment.compile("nam == ''").unwrap_err();
/// assert!(error.to_string().contains("undeclared reference to 'nam'"));
/// # Ok::<(), kubewright_cel::CompileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Environment {
    declarations: Declarations,
    macros: Macros,
    /// Whether programs see the values of their conditions.
    coverage: bool,
}

impl Environment {
    /// The functions and types that Kubernetes 1.37 has for new expressions, without variables.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Variables};
    ///
    /// let program = Environment::kubernetes().compile("quantity('1Gi').isGreaterThan(quantity('1G'))")?;
    /// let value = program.evaluate(&Variables::new(), &mut Budget::policy())?;
    /// assert_eq!(value.as_bool(), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kubernetes() -> Self {
        Self::with_libraries(Version::default().minor() - 1)
    }

    /// The functions that Kubernetes had introduced by a minor version.
    pub(crate) fn with_libraries(minor: u32) -> Self {
        Self {
            declarations: Declarations::new(Functions::introduced_by(minor), minor),
            macros: Macros::introduced_by(minor),
            coverage: false,
        }
    }

    /// Declares a variable.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Type, Variables};
    /// use serde_json::json;
    ///
    /// let environment = Environment::kubernetes().with_variable("ports", Type::list(Type::Int));
    /// let program = environment.compile("ports.all(port, port < 1024)")?;
    ///
    /// let ports = json!([80, 443]);
    /// let variables = Variables::new().with_json("ports", &ports);
    /// let value = program.evaluate(&variables, &mut Budget::policy())?;
    /// assert_eq!(value.as_bool(), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_variable(mut self, name: &str, of: Type) -> Self {
        self.declarations.variables.insert(name.into(), of);
        self
    }

    /// Takes a variable away.
    ///
    /// ```
    /// use kubewright_cel::Environment;
    ///
    /// let environment = Environment::admission().clone().without_variable("oldObject");
    /// assert!(environment.compile("oldObject == null").is_err());
    /// ```
    #[must_use]
    pub fn without_variable(mut self, name: &str) -> Self {
        self.declarations.variables.remove(name);
        self
    }

    /// Declares an object type with its fields. Expressions that select other fields do not compile.
    ///
    /// ```
    /// use kubewright_cel::{Environment, Type};
    ///
    /// let environment = Environment::kubernetes()
    ///     .with_object_type("Backup", [("schedule", Type::String), ("keep", Type::Int)])
    ///     .with_variable("backup", Type::object("Backup"));
    /// assert!(environment.compile("backup.keep > 0").is_ok());
    ///
    /// let error = environment.compile("backup.kept > 0").unwrap_err();
    /// assert!(error.to_string().contains("undefined field 'kept'"));
    /// ```
    #[must_use]
    pub fn with_object_type<'f>(
        mut self,
        name: &str,
        fields: impl IntoIterator<Item = (&'f str, Type)>,
    ) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, of)| (name.to_owned(), of))
            .collect();
        Arc::make_mut(&mut self.declarations.objects).insert(name.into(), Arc::new(fields));
        self
    }

    /// Adds the macro `cel.bind(name, value, expression)`, which the API server has in selectors of devices alone.
    ///
    /// ```
    /// use kubewright_cel::Environment;
    ///
    /// let expression = "cel.bind(x, 'a', x + x)";
    /// assert!(Environment::kubernetes().compile(expression).is_err());
    /// assert!(Environment::kubernetes().with_bindings().compile(expression).is_ok());
    /// ```
    #[must_use]
    pub fn with_bindings(mut self) -> Self {
        self.macros.bindings = true;
        self
    }

    /// Lets programs see the values of their conditions: [`Program::conditions`]. Results and costs stay the same.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Type, Variables};
    /// use serde_json::json;
    ///
    /// let environment = Environment::kubernetes()
    ///     .with_variable("ports", Type::list(Type::Int))
    ///     .with_coverage();
    /// let program = environment.compile("ports.size() > 0 && ports.all(port, port > 0)")?;
    ///
    /// let none = json!([]);
    /// program.evaluate(&Variables::new().with_json("ports", &none), &mut Budget::policy())?;
    /// let never_true = program.conditions().into_iter().filter(|condition| !condition.was_true);
    /// let places: Vec<usize> = never_true.map(|condition| condition.position).collect();
    /// // The first `>`, `&&`, `all`, and the `>` within it, which was not evaluated.
    /// assert_eq!(places, [13, 17, 29, 41]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_coverage(mut self) -> Self {
        self.coverage = true;
        self
    }

    /// Adds what the API server has in mutating policies alone: the types `Object` (and `Object.spec` and so on, for its parts)
    /// and `JSONPatch`, and the function `jsonpatch.escapeKey(string)`.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Value, Variables};
    ///
    /// let environment = Environment::kubernetes().with_patches();
    /// let program = environment.compile(
    ///     "[JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/a')}]",
    /// )?;
    /// assert_eq!(program.output_type().to_string(), "list(JSONPatch)");
    ///
    /// let program = environment.compile("Object{spec: Object.spec{replicas: 3}}")?;
    /// let value = program.evaluate(&Variables::new(), &mut Budget::policy())?;
    /// let Value::Record(object) = &value else { unreachable!() };
    /// assert_eq!(object.name(), "Object");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_patches(mut self) -> Self {
        self.declarations.functions = self.declarations.functions.with_json_patch();
        self.declarations.patches = true;
        self.with_object_type(
            JSON_PATCH,
            [
                ("op", Type::String),
                ("path", Type::String),
                ("from", Type::String),
                ("value", Type::Dyn),
            ],
        )
    }

    /// Parses, type-checks and plans an expression.
    ///
    /// ```
    /// use kubewright_cel::{CompileError, Environment};
    ///
    /// let environment = Environment::kubernetes();
    /// assert!(environment.compile("1 + 2 == 3").is_ok());
    /// assert_eq!(
    ///     environment.compile("1 + '2'").unwrap_err().to_string(),
    ///     "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'
    ///  | 1 + '2'
    ///  | ..^",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// * [`CompileError::Issues`]: the expression has syntax errors, or its types do not fit
    /// * [`CompileError::Instantiation`]: a constant part of it is invalid, such as the pattern of `matches('[')`
    pub fn compile(&self, expression: &str) -> Result<Program, CompileError> {
        let ast = parser::parse(expression, self.macros).map_err(CompileError::Issues)?;
        let checked =
            checker::check(&self.declarations, expression, ast).map_err(CompileError::Issues)?;
        plan::plan(&checked, self.coverage).map_err(CompileError::Instantiation)
    }

    /// Compiles an expression that must evaluate to one of these types. The type is looked at before constant parts are.
    ///
    /// ```
    /// use kubewright_cel::{Environment, Type};
    ///
    /// let environment = Environment::kubernetes();
    /// let error = environment.compile_to("'a'.find('[')", &[Type::Bool]).unwrap_err();
    /// assert_eq!(error.to_string(), "must evaluate to bool but got string");
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Environment::compile`], and [`CompileError::Output`]: the result is of another type.
    pub fn compile_to(&self, expression: &str, types: &[Type]) -> Result<Program, CompileError> {
        let ast = parser::parse(expression, self.macros).map_err(CompileError::Issues)?;
        let checked =
            checker::check(&self.declarations, expression, ast).map_err(CompileError::Issues)?;
        OutputError::of(&checked.types[checked.root.id as usize], types)?;
        plan::plan(&checked, self.coverage).map_err(CompileError::Instantiation)
    }

    /// Compiles an expression that must evaluate to a type, and estimates the maximum cost of its evaluation from the bounds
    /// of `declared`, the declaration of all its variables (`self` and `oldSelf` in the rules of custom resources).
    ///
    /// The API server refuses a rule whose estimate, times the number of values that it is evaluated for
    /// ([`Declared::max_cardinality`]), is above its limit. See [`Declared`] for an example.
    ///
    /// # Errors
    ///
    /// As for [`Environment::compile_to`].
    pub fn compile_with_max_cost(
        &self,
        expression: &str,
        declared: &Declared,
        output: &Type,
    ) -> Result<(Program, u64), CompileError> {
        let ast = parser::parse(expression, self.macros).map_err(CompileError::Issues)?;
        let checked =
            checker::check(&self.declarations, expression, ast).map_err(CompileError::Issues)?;
        let found = &checked.types[checked.root.id as usize];
        OutputError::of(found, std::slice::from_ref(output))?;
        let max_cost = estimate::most(&checked, declared);
        let program = plan::plan(&checked, self.coverage).map_err(CompileError::Instantiation)?;
        Ok((program, max_cost))
    }
}
