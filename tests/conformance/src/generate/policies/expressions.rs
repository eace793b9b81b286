//! Expressions by their types, from a table of templates: those that hold, that fail at run time, and that do not compile.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::generate::random::Random;

/// What an expression may use besides what every expression of a policy may use.
#[expect(
    clippy::struct_excessive_bools,
    reason = "what an expression may use is independent of what else it may use"
)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scope {
    /// Whether the policy has parameters.
    pub(super) params: bool,
    /// Whether the variables of [`VARIABLES`] are declared.
    pub(super) variables: bool,
    /// Whether there is an authorizer.
    pub(super) authorizer: bool,
    /// Whether the expression is a mutation.
    pub(super) patch: bool,
    /// Whether the expression may exceed its budget.
    pub(super) costly: bool,
}

/// The variables that policies declare, with their types.
pub(super) const VARIABLES: [(&str, &str); 6] = [
    ("b", "bool"),
    ("s", "string"),
    ("l", "strings"),
    ("i", "int"),
    ("m", "map"),
    ("d", "dyn"),
];

/// How deep expressions are.
const DEPTH: usize = 3;

#[derive(Debug)]
struct Template {
    needs: &'static str,
    text: &'static str,
    is_leaf: bool,
}

static TEMPLATES: LazyLock<HashMap<&str, Vec<Template>>> = LazyLock::new(|| {
    let mut by_type: HashMap<&str, Vec<Template>> = HashMap::new();
    let lines = include_str!("expressions.tsv").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let mut cells = line.splitn(3, '\t');
        let mut cell = || cells.next().expect("a line has three cells");
        let (of, needs, text) = (cell(), cell(), cell());
        by_type.entry(of).or_default().push(Template {
            needs,
            text,
            is_leaf: !text.contains('@'),
        });
    }
    by_type
});

static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("@([a-z]+)").expect("the pattern is well formed"));

impl Scope {
    fn has(self, needs: &str) -> bool {
        match needs {
            "params" => self.params,
            "variables" => self.variables,
            "authorizer" => self.authorizer,
            "patch" => self.patch,
            "costly" => self.costly,
            _ => true,
        }
    }
}

/// An expression of a type.
pub(super) fn of_type(random: &mut Random, scope: Scope, of: &str) -> String {
    below(random, scope, of, DEPTH)
}

fn below(random: &mut Random, scope: Scope, of: &str, depth: usize) -> String {
    let known = &TEMPLATES[of];
    let fits = |template: &&Template| scope.has(template.needs) && (template.is_leaf || depth > 0);
    let mut chosen: Vec<&Template> = known.iter().filter(fits).collect();
    if chosen.is_empty() {
        chosen = known.iter().collect();
    }
    // What a policy alone has is chosen more often than its share of the table.
    let own: Vec<&Template> = chosen
        .iter()
        .filter(|template| !template.needs.is_empty())
        .copied()
        .collect();
    let template = if !own.is_empty() && random.one_in(6) {
        random.one_of(&own.iter().map(|own| own.text).collect::<Vec<_>>())
    } else {
        chosen[random.below(chosen.len())].text
    };
    let fill = |found: &Captures<'_>| {
        let name = &found[1];
        if !TEMPLATES.contains_key(name) {
            return found[0].to_owned();
        }
        let inner = below(random, scope, name, depth.saturating_sub(1));
        if is_compound(&inner) {
            format!("({inner})")
        } else {
            inner
        }
    };
    PLACEHOLDER.replace_all(template, fill).into_owned()
}

/// Whether an operator stands outside of all brackets and strings, or may do so.
fn is_compound(expression: &str) -> bool {
    expression.contains(' ') || expression.starts_with(['-', '!'])
}

/// An expression that does not compile, or one of another type than a field wants.
pub(super) fn faulty(random: &mut Random, scope: Scope, of: &str) -> String {
    const FAULTS: &[&str] = &[
        "nosuch",
        "object.x +",
        "",
        " ",
        "nosuch(1)",
        "'a' + 1",
        "1 + 1u",
        "[1, 'a']",
        "{'a': 1, 'b': 'c'}",
        "true ? 1 : 'a'",
        "'a'.nosuch()",
        "size(1)",
        "'a'.startsWith(1)",
        "math.greatest(1, 2) == 2",
        "cel.bind(x, 1, x == 1)",
        "has(object)",
        "has(object['a'])",
        "object.all(x, y, z, true)",
        "[1].map(x.y, true)",
        "[1].exists(1, true)",
        "request.nosuch == ''",
        "request.kind.nosuch == ''",
        "request.userInfo.groups == ''",
        "request.dryRun == 'a'",
        "namespaceObject.nosuch == 1",
        "namespaceObject.metadata.nosuch == 1",
        "namespaceObject.spec.finalizers == 'a'",
        "params.x == 1",
        "variables.nosuch",
        "variables",
        "authorizer",
        "authorizer.allowed()",
        "authorizer.requestResource.allowed()",
        "authorizer.group('').check('get').allowed()",
        "Object{}",
        "Object{spec: 1}",
        "JSONPatch{op: 'add'}",
        "JSONPatch{nosuch: 'add'}",
        "[JSONPatch{op: 1}]",
        "jsonpatch.escapeKey('a')",
        "quantity(1)",
        "ip(1)",
        "semver('1', 'x')",
        "'%z'.format([1])",
        "'%s %s'.format(['a'])",
        "'%s'.format(['a', 'b'])",
        "'a'.matches('[')",
        "timestamp('x') == timestamp('y')",
        "duration('1x') == duration('1s')",
        "b'a' == 'a'",
        "-'a'",
        "!1",
        "1 in 2",
        "'a'[0]",
        "\"a",
        "1 +* 2",
        "a.b.c",
        ".x",
        "object.spec.",
        "'\\q'",
        "99999999999999999999",
        "0x",
        "true &&",
        "((true)",
        "optional.of(1).nosuch()",
        "optional.of(1) + 1",
        "sets.contains([1], ['a'])",
        "['a'].sum()",
        "[{}].sort()",
        "lists.range('a')",
        "format.nosuch()",
        "format.named(1)",
        "Object.metadata{}",
        "Object{metadata: Object.metadata{labels: {'a': 1}}}",
    ];
    let types = [
        "bool", "string", "int", "strings", "map", "dyn", "optional", "quantity", "ip",
    ];
    match random.below(5) {
        0 => {
            let other = random.pick(&types);
            of_type(random, scope, other)
        }
        1 => {
            // One part is of another type.
            let expression = of_type(random, scope, of);
            let (from, to) = random.one_of(&[
                ("'a'", "1"),
                ("object", "nosuch"),
                ("string(", "int("),
                (".size()", ".length()"),
                ("true", "null"),
                ("[0]", "['0']"),
                ("==", "<"),
                ("&&", "+"),
                ("request.", "request.no"),
            ]);
            expression.replacen(from, to, 1)
        }
        _ => random.pick(FAULTS).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_an_expression_without_parts_and_every_placeholder_a_type() {
        let not_types = ["example", "b"];
        for (of, templates) in TEMPLATES.iter() {
            let leaf = templates.iter().find(|template| template.is_leaf);
            let alias = templates
                .iter()
                .any(|template| template.text.starts_with('@'));
            assert!(leaf.is_some() || alias || *of == "bools", "{of} has no end");
            for template in templates {
                for found in PLACEHOLDER.captures_iter(template.text) {
                    let known = TEMPLATES.contains_key(&found[1]) || not_types.contains(&&found[1]);
                    assert!(known, "{} in {}", &found[0], template.text);
                }
            }
        }
    }

    #[test]
    fn nothing_is_used_that_is_not_in_scope() {
        let mut random = Random::of_case("expressions", 1, 1);
        for _ in 0..2000 {
            let expression = of_type(&mut random, Scope::default(), "bool");
            for name in ["params", "variables.", "authorizer", "jsonpatch"] {
                assert!(!expression.contains(name), "{expression}");
            }
        }
    }
}
