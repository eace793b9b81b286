//! The mutations of a mutating policy, compiled, and what one of them makes of an object.

use std::borrow::Cow;

use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::conform::{
    Medium, conform, convert_numbers, converter_words, write_empties,
};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json::{order, ordered};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::patch::json::Patch;
use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_cel::{AccessCheck, Authority, Budget, Composition, Type, Value as Cel, Variables};
use kubewright_fieldmanagement::merge_unowned;
use kubewright_registry::Registry;
use serde_json::{Map, Value};

use super::coverage::Fields;
use super::definition::Compile;
use super::input::Input;
use super::json_patch::{Structs, operations};
use super::literal;
use super::variables::composition;
use crate::attributes::set_to_null;
use crate::expressions::{Conditions, Expression, Outcome};
use crate::kinds::{is_built_in, keep_kind};
use crate::matching::Matched;

/// The expressions of one policy.
#[derive(Debug)]
pub(super) struct Mutator {
    composition: Composition,
    conditions: Conditions,
    pub(super) mutations: Vec<Mutation>,
    /// Whether it may be called again after a later change.
    pub(super) if_needed: bool,
}

/// One mutation.
#[derive(Debug)]
pub(super) struct Mutation {
    form: Form,
    expression: Expression,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    ApplyConfiguration,
    JsonPatch,
}

/// What a mutation made of an object.
pub(super) struct Mutated {
    pub(super) object: Value,
    /// The lists of a custom object that were set to none at all, as JSON pointers: they are there until the object is stored.
    pub(super) unset: Vec<String>,
}

/// Why a mutation did not change the object.
pub(super) enum Failure {
    /// The failure policy decides.
    Policy(String),
    /// The request fails whatever the policy says.
    Refused(Status),
}

impl Compile for Mutator {
    fn compile(spec: &Value, coverage: bool) -> Self {
        let composition = composition(spec, coverage);
        let environment = composition.environment();
        let patches = environment.clone().with_patches();
        let mutation = |mutation: &Value| {
            let compile = |holder: &str, output| {
                let text = mutation.at(holder).text("expression");
                Expression::compile(&patches, text, &[output])
            };
            match mutation.text("patchType") {
                "JSONPatch" => Mutation {
                    form: Form::JsonPatch,
                    expression: compile("jsonPatch", Type::list(Type::object("JSONPatch"))),
                },
                _ => Mutation {
                    form: Form::ApplyConfiguration,
                    expression: compile("applyConfiguration", Type::object("Object")),
                },
            }
        };
        Self {
            conditions: Conditions::from_object(spec.at("matchConditions"), environment),
            mutations: spec.list("mutations").iter().map(mutation).collect(),
            if_needed: spec.text("reinvocationPolicy") == "IfNeeded",
            composition,
        }
    }

    fn fields(&self) -> Fields {
        let mut fields = Fields::of(&self.conditions, &self.composition);
        for (index, mutation) in self.mutations.iter().enumerate() {
            let holder = match mutation.form {
                Form::ApplyConfiguration => "applyConfiguration",
                Form::JsonPatch => "jsonPatch",
            };
            let field = format!("spec.mutations[{index}].{holder}.expression");
            fields.add(field, &mutation.expression);
        }
        fields
    }
}

impl Mutator {
    pub(super) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Whether the match conditions hold.
    pub(super) fn conditions(&self, input: &Input<'_>) -> Outcome {
        let (cluster, user) = (input.cluster, &input.attributes.user);
        let authorizer = |check: &AccessCheck<'_>| cluster.authorize(user, check);
        let authority = Authority::new(&authorizer);
        let variables = input.variables_of_conditions(&authority);
        self.conditions.outcome(&self.composition.bind(variables))
    }

    /// The object as one of the mutations makes it; nothing if it stays as it is.
    pub(super) fn mutated(
        &self,
        mutation: &Mutation,
        input: &Input<'_>,
        registry: &Registry,
        matched: &Matched,
        object: &Value,
        unset: &[String],
    ) -> Result<Option<Mutated>, Failure> {
        let (cluster, user) = (input.cluster, &input.attributes.user);
        let authorizer = |check: &AccessCheck<'_>| cluster.authorize(user, check);
        let authority = Authority::new(&authorizer);
        let variables = input.variables(&input.namespace.shown, Some(&authority));
        let variables = self.composition.bind(variables);
        let value = mutation.evaluate(&variables).map_err(Failure::Policy)?;
        match mutation.form {
            Form::ApplyConfiguration => {
                let applied = apply_configuration(&value, registry, matched, object);
                let mut applied = applied.map_err(Failure::Policy)?;
                applied.unset.extend_from_slice(unset);
                Ok(Some(applied))
            }
            Form::JsonPatch => {
                let structs = Structs {
                    request: input.request.head(),
                    namespace: &input.namespace.shown,
                    objects: input
                        .request
                        .objects()
                        .map(|object| (&matched.kind, object)),
                };
                // A patch is of the JSON of the object, which has null for such a list.
                let mut object = Cow::Borrowed(object);
                if !unset.is_empty() {
                    set_to_null(object.to_mut(), unset);
                }
                let patched = json_patch(&value, &structs, matched, &object)?;
                Ok(patched.map(|object| Mutated {
                    object,
                    unset: Vec::new(),
                }))
            }
        }
    }
}

impl Mutation {
    fn evaluate<'a>(&'a self, variables: &Variables<'a>) -> Result<Cel<'a>, String> {
        // An expression that does not compile is named without more words here than in validations.
        if let Err(why) = &self.expression.program {
            return Err(why.clone());
        }
        self.expression.evaluate(variables, &mut Budget::policy())?
    }
}

fn apply_configuration(
    value: &Cel<'_>,
    registry: &Registry,
    matched: &Matched,
    object: &Value,
) -> Result<Mutated, String> {
    let kind = &matched.kind;
    literal::check_type_names(value)?;
    let patch = literal::configuration(value);
    let mut patch = patch.map_err(|_| "invalid return type: *dynamic.ObjectVal".to_owned())?;
    patch.put("apiVersion", kind.api_version());
    patch.put("kind", kind.kind.as_str());
    let unconverted = literal::unconverted(value);
    let applied = merge_unowned(registry, kind, object, &patch, &unconverted);
    let mut applied = applied.map_err(|why| format!("error applying patch: {why}"))?;
    convert_numbers(kind, &mut applied);
    typed(kind, &mut applied).map_err(|why| {
        let why = converter_words(&why, &applied);
        let (group, version, kind) = (&kind.group, &kind.version, &kind.kind);
        format!("unable to convert unstructured object to {group}/{version}, Kind={kind}: {why}")
    })?;
    let mut unset = Vec::new();
    if !is_built_in(kind) {
        unset = literal::empty_lists(value);
        unset.retain(|place| object.pointer(place).is_none());
    }
    Ok(Mutated {
        object: applied,
        unset,
    })
}

/// Makes the object what its kind makes of it; answers the fields that the kind does not have.
fn typed(kind: &GroupVersionKind, object: &mut Value) -> Result<Vec<String>, String> {
    let conformed = conform(kind, object)?;
    if conformed.empties {
        write_empties(kind, object, Medium::Json);
    }
    Ok(conformed.unknown)
}

fn json_patch(
    value: &Cel<'_>,
    structs: &Structs<'_>,
    matched: &Matched,
    object: &Value,
) -> Result<Option<Value>, Failure> {
    let kind = &matched.kind;
    let operations = operations(value, structs).map_err(Failure::Policy)?;
    let failed = |why: &dyn std::fmt::Display| Failure::Policy(format!("JSON Patch: {why}"));
    let patch = Patch::from_value(operations).map_err(|why| failed(&why))?;
    let patch = patch.with_nulls_as_values();
    let mut patched = object.clone();
    match patch.apply(&mut patched) {
        Ok(()) => {}
        Err(why) if why.is_failed_test() => return Ok(None),
        Err(why) => return Err(failed(&why)),
    }
    if patched.is_null() {
        patched = Value::Object(Map::new());
    }
    keep_kind(kind, &mut patched).map_err(Failure::Refused)?;
    if Custom::of(&matched.resource).is_some() && is_built_in(kind) {
        // Parts of custom resources are held to no type.
        return Ok(Some(patched));
    }
    let refused = |why: &str| Failure::Refused(Status::internal(why));
    let unknown = typed(kind, &mut patched).map_err(|why| refused(&why))?;
    if is_built_in(kind) && !unknown.is_empty() {
        // Go's decoder sees the patched object as it is written.
        let paths = patch.fields_of(&ordered::text(object), None).paths;
        let unknown = unknown.iter();
        let mut unknown: Vec<String> = unknown
            .map(|field| format!("unknown field {}", quoted(field)))
            .collect();
        order::sort(&mut unknown, &paths);
        let why = format!("strict decoding error: {}", unknown.join(", "));
        return Err(refused(&why));
    }
    Ok(Some(patched))
}
