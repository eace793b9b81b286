//! The variable `device` of the selectors of dynamic resource allocation.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use thiserror::Error;

use crate::value::{Key, Map, Object, Quantity, Semver, Text, Value};
use crate::variables::Variables;

/// An attribute or a capacity of a device without a value that expressions have, such as a version that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("reading {field} {name} of a device: {reason}")]
pub struct DeviceError {
    field: &'static str,
    name: String,
    reason: String,
}

/// Values by their domains.
type Domains<'a> = BTreeMap<Key<'a>, BTreeMap<Key<'a>, Value<'a>>>;

impl<'a> Variables<'a> {
    /// Sets the variable `device` to a device of a ResourceSlice, an entry of its `spec.devices`. `driver` is `spec.driver` of the
    /// slice, which is also the domain of attributes and capacities whose names have none.
    ///
    /// ```
    /// use kubewright_cel::{Budget, Environment, Place, Variables, Version};
    /// use serde_json::json;
    ///
    /// let device = json!({
    ///     "name": "gpu-0",
    ///     "attributes": {
    ///         "model": {"string": "A100"},
    ///         "gpu.example.com/driverVersion": {"version": "1.12.0"},
    ///     },
    ///     "capacity": {"memory": {"value": "80Gi"}},
    /// });
    /// let environment = Environment::new_expressions(Place::DeviceSelector, Version::default());
    /// let program = environment.compile(
    ///     "cel.bind(gpu, device.attributes['gpu.example.com'],
    ///          gpu.model == 'A100' && gpu.driverVersion.isGreaterThan(semver('1.9.0')))
    ///      && device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('40Gi'))
    ///      && !has(device.attributes['other.example.com'].model)",
    /// )?;
    /// let variables = Variables::new().with_device("gpu.example.com", &device)?;
    /// assert_eq!(program.evaluate(&variables, &mut Budget::match_conditions())?.as_bool(), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An attribute has no value, or a version or a quantity cannot be read.
    pub fn with_device(self, driver: &'a str, device: &'a Json) -> Result<Self, DeviceError> {
        let is_shared = device.get("allowMultipleAllocations") == Some(&Json::Bool(true));
        let fields = [
            ("driver", Value::String(Text::Borrowed(driver))),
            ("allowMultipleAllocations", Value::Bool(is_shared)),
            (
                "attributes",
                by_domain(driver, device, "attributes", attribute)?,
            ),
            ("capacity", by_domain(driver, device, "capacity", capacity)?),
        ];
        let fields: BTreeMap<Key<'a>, Value<'a>> = fields
            .into_iter()
            .map(|(name, value)| (Key::String(Text::Borrowed(name)), value))
            .collect();
        Ok(self.with("device", Value::Map(Map::Values(Arc::new(fields)))))
    }
}

/// The members of a field, by domains and names.
fn by_domain<'a>(
    driver: &'a str,
    device: &'a Json,
    field: &'static str,
    read: fn(&'a Json) -> Result<Value<'a>, String>,
) -> Result<Value<'a>, DeviceError> {
    let mut domains = Domains::new();
    let members = device.get(field).and_then(Json::as_object);
    for (name, member) in members.into_iter().flatten() {
        let value = read(member).map_err(|reason| DeviceError {
            field,
            name: name.clone(),
            reason,
        })?;
        let (domain, id) = name.split_once('/').unwrap_or((driver, name));
        domains
            .entry(Key::String(Text::Borrowed(domain)))
            .or_default()
            .insert(Key::String(Text::Borrowed(id)), value);
    }
    let domains = domains
        .into_iter()
        .map(|(domain, values)| (domain, Value::Map(Map::Values(Arc::new(values)))));
    Ok(Value::Map(Map::Domains(Arc::new(domains.collect()))))
}

fn attribute(member: &Json) -> Result<Value<'_>, String> {
    let list = |field, read: fn(&Json) -> Result<Value<'_>, String>| {
        let values = member.get(field).and_then(Json::as_array)?;
        let values: Result<Vec<Value<'_>>, String> = values.iter().map(read).collect();
        Some(values.map(Value::list))
    };
    let one = |field| member.get(field).filter(|value| !value.is_null());
    let plain: fn(&Json) -> Result<Value<'_>, String> = |value| Ok(Value::from_json(value));
    if let Some(values) = list("ints", plain)
        .or_else(|| list("bools", plain))
        .or_else(|| list("strings", plain))
        .or_else(|| list("versions", version))
    {
        return values;
    }
    if let Some(value) = one("int").or_else(|| one("bool")).or_else(|| one("string")) {
        return Ok(Value::from_json(value));
    }
    match one("version") {
        Some(value) => version(value),
        None => Err("unsupported attribute value".to_owned()),
    }
}

fn version(value: &Json) -> Result<Value<'_>, String> {
    let version = Semver::parse(value.as_str().unwrap_or_default())
        .map_err(|reason| format!("parse semantic version: {reason}"))?;
    Ok(Value::Object(Object::Semver(Arc::new(version))))
}

fn capacity(member: &Json) -> Result<Value<'_>, String> {
    let text = match member.get("value") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let quantity = Quantity::parse(&text)?;
    Ok(Value::Object(Object::Quantity(Arc::new(quantity))))
}
