//! The text of new files.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

/// Defines the templates by the files under `templates/`.
macro_rules! templates {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)+) => {$(
        $(#[$doc])*
        pub(super) const $name: Template = Template(include_str!(concat!("templates/", $file)));
    )+};
}

/// The text of a file with places to fill in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template(&'static str);

templates! {
    CARGO = "Cargo.toml.jinja";
    CI = "ci.yml.jinja";
    CONTAINERFILE = "Containerfile.jinja";
    DEMO = "demo.yaml.jinja";
    GITIGNORE = "gitignore.jinja";
    LIBRARY = "lib.rs.jinja";
    MAIN = "main.rs.jinja";
    README = "README.md.jinja";
    TESTS = "tests.rs.jinja";

    /// The table of kinds, before there is one.
    APIS = "apis.rs.jinja";
    /// A kind.
    API = "api.rs.jinja";
    /// A kind that another project defines.
    EXTERNAL = "external.rs.jinja";
    /// The list of controllers, before there is one.
    CONTROLLERS = "controllers.rs.jinja";
    CONTROLLER = "controller.rs.jinja";
    CONTROLLER_TEST = "controller_test.rs.jinja";
    /// The list of tasks, before there is one.
    TASKS = "tasks.rs.jinja";
    TASK = "task.rs.jinja";
    TASK_TEST = "task_test.rs.jinja";
    /// The list of policies, before there is one.
    POLICIES = "policies.rs.jinja";
    POLICY = "policy.rs.jinja";
    POLICY_TEST = "policy_test.rs.jinja";
    /// The list of webhooks, before there is one.
    WEBHOOKS = "webhooks.rs.jinja";
    /// What a file of webhooks begins with, and its tests.
    HOOK = "hook.rs.jinja";
    HOOK_TEST = "hook_test.rs.jinja";
    VALIDATING = "validating.rs.jinja";
    VALIDATING_TEST = "validating_test.rs.jinja";
    DEFAULTING = "defaulting.rs.jinja";
    DEFAULTING_TEST = "defaulting_test.rs.jinja";
    CONVERSION = "conversion.rs.jinja";
    CONVERSION_TEST = "conversion_test.rs.jinja";
    /// How a version becomes the hub and comes from it.
    SPOKE = "spoke.rs.jinja";
    /// An object to try it with.
    SAMPLE = "sample.yaml.jinja";
    STORED_STEP = "stored_step.yaml.jinja";
    VALIDATING_STEP = "validating_step.yaml.jinja";
    DEFAULTING_STEP = "defaulting_step.yaml.jinja";
    CONTROLLER_STEP = "controller_step.yaml.jinja";
}

impl Template {
    /// Fills the places in.
    pub(super) fn fill(self, values: Value) -> String {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder()
            .keep_trailing_newline(true)
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
        let text = environment.render_str(self.0, values);
        text.expect("a template names the values that it is given")
    }
}
