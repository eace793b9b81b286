//! What a policy consists of: its expressions, and what is done with them.

use crate::expression::Source;
use crate::merge::Lists;
use crate::namespaces::Namespaces;
use crate::params::Params;

/// What a policy consists of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) params: Option<Params>,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) variables: Vec<(String, Source)>,
    pub(crate) conditions: Vec<(String, Source)>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) annotations: Vec<(String, Source)>,
    pub(crate) mutations: Vec<Mutation>,
    pub(crate) actions: Vec<Action>,
    pub(crate) lists: Lists,
    pub(crate) fails_open: bool,
    /// Whether it decides without effect.
    pub(crate) shadow: bool,
    pub(crate) problem: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) expression: Source,
    pub(crate) message: String,
    pub(crate) message_expression: Option<Source>,
    pub(crate) reason: Reason,
}

#[derive(Clone, Debug)]
pub(crate) struct Mutation {
    pub(crate) change: Change,
    pub(crate) expression: Source,
}

/// How a mutation changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Apply,
    Patch,
}

/// What a policy makes of a rule that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Deny,
    Warn,
    Audit,
}

/// The reason of a denial, from which the code of the answer follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these four")]
pub enum Reason {
    /// 401
    Unauthorized,
    /// 403
    Forbidden,
    /// 422
    #[default]
    Invalid,
    /// 413
    RequestEntityTooLarge,
}

impl Action {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        }
    }
}

impl Reason {
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::Invalid => 422,
            Self::RequestEntityTooLarge => 413,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::Invalid => "Invalid",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
        }
    }
}

impl Parts {
    /// What is done for a rule that does not hold: it denies by default.
    pub(crate) fn actions(&self) -> &[Action] {
        match self.actions.as_slice() {
            [] => &[Action::Deny],
            actions => actions,
        }
    }

    pub(crate) fn fails_open(&self) -> bool {
        self.fails_open
    }

    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn wrong(&mut self, why: &str) {
        self.problem.get_or_insert_with(|| why.to_owned());
    }

    pub(crate) fn act(&mut self, action: Action) {
        if !self.actions.contains(&action) {
            self.actions.push(action);
        }
    }
}
