//! A complete policy behind its webhook, and the one place where requests are answered.

use std::sync::Arc;

use kubewright_webhook::Role;

use crate::answer::Answer;
use crate::compiled::Compiled;
use crate::parts::Parts;
use crate::request::Request;
use crate::tally::Tally;
use crate::{mutation, validation};

/// A complete policy, behind its webhook.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) parts: Parts,
    pub(crate) compiled: Compiled,
    pub(crate) role: Role,
    pub(crate) name: String,
    pub(crate) tally: Option<Arc<Tally>>,
}

impl Ready {
    pub(crate) fn answer(&self, request: &Request) -> Answer {
        let answer = answer(&self.parts, &self.compiled, self.role, &self.name, request);
        if let Some(tally) = &self.tally {
            tally.add(&answer);
        }
        answer
    }
}

pub(crate) fn answer(
    parts: &Parts,
    compiled: &Compiled,
    role: Role,
    name: &str,
    request: &Request,
) -> Answer {
    match role {
        Role::Validating => validation::validate(parts, compiled, request, name),
        Role::Mutating => mutation::mutate(parts, compiled, request),
    }
}
