//! Quantities by the names of resources, as specifications of containers and quotas have them.

use std::collections::BTreeMap;

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View as _;
use serde_json::{Map, Value};

/// Quantities by the names of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceList(BTreeMap<String, Quantity>);

impl ResourceList {
    /// Reads a field of an object, such as the `requests` of a container.
    pub fn of(holder: &Value, field: &str) -> Self {
        let entries = holder.entries(field);
        Self(
            entries
                .filter_map(|(name, value)| Some((name.to_owned(), Quantity::from_value(value)?)))
                .collect(),
        )
    }

    /// Whether there is no resource in the list.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The quantity of a resource, if it is in the list.
    pub fn get(&self, name: &str) -> Option<Quantity> {
        self.0.get(name).copied()
    }

    /// The names of the resources, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The resources and their quantities, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Sets the quantity of a resource.
    pub fn set(&mut self, name: impl Into<String>, quantity: Quantity) {
        self.0.insert(name.into(), quantity);
    }

    /// Adds other quantities.
    pub fn add(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            match self.0.get_mut(name) {
                Some(sum) => *sum = sum.plus(*quantity),
                None => self.set(name, *quantity),
            }
        }
    }

    /// Raises each quantity to that of the other list.
    pub fn raise(&mut self, other: &Self) {
        for (name, quantity) in &other.0 {
            if self.0.get(name).is_none_or(|own| quantity > own) {
                self.set(name, *quantity);
            }
        }
    }

    /// What is left of this list without the other one; nothing is below zero.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let zero = Quantity::from(0);
        let left = |(name, own): (&String, &Quantity)| {
            let left = other
                .0
                .get(name)
                .map_or(*own, |other| own.plus(other.negated()));
            (name.clone(), if left > zero { left } else { zero })
        };
        Self(self.0.iter().map(left).collect())
    }

    /// The quantities of these resources.
    #[must_use]
    pub fn masked(&self, names: &[String]) -> Self {
        let kept = self.0.iter().filter(|(name, _)| names.contains(name));
        Self(kept.map(|(name, value)| (name.clone(), *value)).collect())
    }

    /// The quantities that are not zero.
    #[must_use]
    pub fn without_zeros(&self) -> Self {
        let kept = self.0.iter().filter(|(_, value)| !value.is_zero());
        Self(kept.map(|(name, value)| (name.clone(), *value)).collect())
    }

    /// The names of the resources that are in both lists, and of which this one has more.
    pub fn exceeding(&self, other: &Self) -> Vec<String> {
        let exceeds =
            |(name, own): &(&String, &Quantity)| other.0.get(*name).is_some_and(|most| *own > most);
        let found = self.0.iter().filter(exceeds);
        found.map(|(name, _)| name.clone()).collect()
    }

    /// The list as quotas are printed in errors: `cpu=1,memory=1Gi`.
    pub fn shown(&self) -> String {
        let parts = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        parts.collect::<Vec<_>>().join(",")
    }

    /// The list as a field of an object.
    pub fn to_value(&self) -> Value {
        let entries = self.0.iter();
        let entries = entries.map(|(name, value)| (name.clone(), value.to_string().into()));
        Value::Object(entries.collect::<Map<String, Value>>())
    }
}

impl<N: Into<String>> FromIterator<(N, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (N, Quantity)>>(items: I) -> Self {
        Self(
            items
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(value: &Value) -> ResourceList {
        ResourceList::of(&json!({ "list": value }), "list")
    }

    #[test]
    fn what_is_left_is_never_below_zero_and_has_only_the_resources_of_the_first_list() {
        let left = list(&json!({"cpu": "1", "memory": "1Gi"}))
            .without(&list(&json!({"cpu": "2", "memory": "256Mi", "pods": "1"})));
        assert_eq!(left, list(&json!({"cpu": "0", "memory": "768Mi"})));
    }

    #[test]
    fn a_list_exceeds_another_in_the_resources_that_both_have() {
        let exceeding = list(&json!({"cpu": "2", "memory": "1Gi", "pods": "9"}))
            .exceeding(&list(&json!({"cpu": "1999m", "memory": "1Gi"})));
        assert_eq!(exceeding, ["cpu"]);
    }

    #[test]
    fn a_list_is_shown_sorted() {
        let shown = list(&json!({"pods": "1", "cpu": "1500m", "memory": "1024Mi"})).shown();
        assert_eq!(shown, "cpu=1500m,memory=1Gi,pods=1");
    }
}
