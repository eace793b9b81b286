//! What an expression may name: variables, object types and functions.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use crate::checker;
use crate::declared::Declared;
use crate::estimate;
use crate::library::{Function, Functions};
use crate::parser;
use crate::plan;
use crate::program::{CompileError, Program};
use crate::types::Type;

/// The variables, types and functions that expressions can use.
///
/// An environment is made once and compiles any number of expressions.
#[derive(Clone, Debug)]
pub struct Environment {
    variables: HashMap<Arc<str>, Type>,
    objects: Arc<HashMap<Arc<str>, Fields>>,
    functions: Arc<Functions>,
    bindings: bool,
}

/// The fields of an object type.
type Fields = Arc<BTreeMap<String, Type>>;

impl Environment {
    /// The functions and types of Kubernetes 1.36, without variables.
    pub fn kubernetes() -> Self {
        Self {
            variables: HashMap::new(),
            objects: Arc::default(),
            functions: Arc::clone(Functions::kubernetes()),
            bindings: false,
        }
    }

    /// The environment of match conditions: `object`, `oldObject`, `request`, `namespaceObject`, `authorizer` and
    /// `authorizer.requestResource`.
    pub fn admission() -> &'static Self {
        static ADMISSION: LazyLock<Environment> = LazyLock::new(crate::admission::environment);
        &ADMISSION
    }

    /// Adds a variable.
    #[must_use]
    pub fn variable_of_type(mut self, name: &str, of: Type) -> Self {
        self.variables.insert(name.into(), of);
        self
    }

    /// Adds an object type with its fields.
    #[must_use]
    pub fn object_type<'f>(
        mut self,
        name: &str,
        fields: impl IntoIterator<Item = (&'f str, Type)>,
    ) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, of)| (name.to_owned(), of))
            .collect();
        Arc::make_mut(&mut self.objects).insert(name.into(), Arc::new(fields));
        self
    }

    /// Adds the macro `cel.bind(name, value, expression)`, which selectors of devices have.
    #[must_use]
    pub fn with_bindings(mut self) -> Self {
        self.bindings = true;
        self
    }

    /// Adds the functions that only mutating policies have.
    #[must_use]
    pub fn with_json_patch(mut self) -> Self {
        self.functions = Arc::clone(Functions::with_json_patch());
        self
    }

    /// Parses and checks an expression and makes it ready to be evaluated.
    ///
    /// # Errors
    ///
    /// * the expression cannot be read or does not fit the types of what it names
    /// * a constant part of it fails, such as `int('x')`
    pub fn compile(&self, expression: &str) -> Result<Program, CompileError> {
        let ast = parser::parse(expression, self.bindings).map_err(CompileError::Issues)?;
        let checked = checker::check(self, expression, ast).map_err(CompileError::Issues)?;
        plan::plan(&checked).map_err(CompileError::Instantiation)
    }

    /// Compiles an expression, and finds out what it can cost at most where the variables are values declared so.
    ///
    /// # Errors
    ///
    /// As for [`Environment::compile`].
    pub fn compile_bounded(
        &self,
        expression: &str,
        variables: &Declared,
    ) -> Result<(Program, u64), CompileError> {
        let ast = parser::parse(expression, self.bindings).map_err(CompileError::Issues)?;
        let checked = checker::check(self, expression, ast).map_err(CompileError::Issues)?;
        let most = estimate::most(&checked, variables);
        let program = plan::plan(&checked).map_err(CompileError::Instantiation)?;
        Ok((program, most))
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    pub(crate) fn object(&self, name: &str) -> Option<&BTreeMap<String, Type>> {
        self.objects.get(name).map(|fields| &**fields)
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.find(name)
    }

    /// The type that a name stands for when it is written in an expression.
    pub(crate) fn named_type(&self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "int" => Type::Int,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "string" => Type::String,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            "optional_type" => Type::optional(Type::Dyn),
            "net.IP" | "net.CIDR" => Type::Opaque(name.into(), Arc::new([])),
            _ if self.objects.contains_key(name) => Type::object(name),
            _ => return None,
        })
    }
}
