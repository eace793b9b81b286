//! Which requests a webhook or a policy is for: rules, and selectors of namespaces and objects (A.5 to A.7).

mod criteria;
mod rules;
mod selector;

pub(crate) use criteria::{Criteria, Matched};
