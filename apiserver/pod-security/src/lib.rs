#![doc = include_str!("../README.md")]

mod checks;
mod configuration;
mod level;
mod namespace;
mod pod;
mod policy;
mod template;
mod violation;
mod words;

pub use checks::{Violations, violations};
pub use configuration::{Configuration, Exemptions};
pub use level::{Level, LevelVersion, Version};
pub use namespace::warnings_of_pods;
pub use pod::{Pod, is_significant_update};
pub use policy::Policy;
pub use template::{has_template, template_of};
