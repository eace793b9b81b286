//! A generated case, by its family, a seed and its number.

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::random::Random;
use super::{kinds, policies, reads, schemas, sequences, webhooks};
use crate::case::{self, Case};

/// What cases are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
#[non_exhaustive]
pub enum Family {
    /// Definitions with every keyword of a schema, and objects on, at and beyond each bound.
    Schemas,
    /// Objects of every built-in kind, changed in a field or two.
    Kinds,
    /// Objects of every built-in kind, each changed in one field, of which every one is as likely, however deep.
    Fields,
    /// Sequences of writes over few names of few kinds.
    Sequences,
    /// Webhook configurations with good and broken answers.
    Webhooks,
    /// Lists, watches and selectors.
    Reads,
    /// Admission policies and their bindings, and the writes that they see.
    Policies,
}

impl Family {
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn entry(self, random: &mut Random) -> Map<String, Value> {
        match self {
            Self::Schemas => schemas::entry(random),
            Self::Kinds => kinds::entry(random),
            Self::Fields => kinds::field_entry(random),
            Self::Sequences => sequences::entry(random),
            Self::Webhooks => webhooks::entry(random),
            Self::Reads => reads::entry(random),
            Self::Policies => policies::entry(random),
        }
    }

    /// How many cases run on both servers before their answers are compared. One that is slow keeps the others of its batch.
    pub(crate) fn batch(self) -> usize {
        match self {
            Self::Schemas => 96,
            _ => 240,
        }
    }

    /// How many cases two servers run before they are started anew: definitions slow a real one down.
    pub(crate) fn of_one_pair(self) -> usize {
        match self {
            Self::Schemas => 480,
            Self::Kinds | Self::Fields => 2880,
            Self::Sequences | Self::Webhooks | Self::Policies => 960,
            Self::Reads => 1920,
        }
    }
}

/// A case as it is written in a file.
#[derive(Clone, Debug)]
pub(crate) struct Generated {
    pub(crate) family: Family,
    pub(crate) entry: Map<String, Value>,
}

impl Generated {
    pub(crate) fn new(family: Family, seed: u64, index: u64) -> Self {
        let mut random = Random::of_case(&family.name(), seed, index);
        let mut entry = family.entry(&mut random);
        let about = entry.get("name").and_then(Value::as_str);
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        entry.insert(
            "name".into(),
            format!("seed {seed}, case {index}{about}").into(),
        );
        Self { family, entry }
    }

    pub(crate) fn case(&self) -> Result<Case> {
        let name = &self.entry["name"];
        read(self.family, &Value::Object(self.entry.clone()))
            .with_context(|| format!("in the generated case {name}"))
    }
}

/// The one case of an entry.
pub(crate) fn read(family: Family, entry: &Value) -> Result<Case> {
    let file = format!("generate/{}", family.name());
    let written = json!({"about": "Generated cases", "cases": [entry]});
    let mut cases = case::from_value(&file, written)?;
    cases.pop().context("an entry is one case")
}
