//! The figures of the repository's structure: what the first version had, what is aimed at, and what there is now.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quote::ToTokens as _;
use syn::visit::{self, Visit};

use crate::tree::{File, files};
use crate::{cycles, phrases, programs};

/// The crates that users' programs are written with.
const SDK: [&str; 9] = [
    "crates/certificates",
    "crates/controller",
    "crates/kubewright",
    "crates/manager",
    "crates/manifests",
    "crates/review",
    "crates/server",
    "crates/testing",
    "crates/webhook",
];

/// Returns the figures as a Markdown table.
///
/// # Panics
///
/// If git or Cargo cannot read the repository.
pub fn table() -> String {
    let mut text = String::from("| | first version | aim | now |\n|---|---|---|---|\n");
    for (figure, first, aim, now) in rows() {
        let _ = writeln!(text, "| {figure} | {first} | {aim} | {now} |");
    }
    text
}

fn rows() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let crates = cycles::crates();
    let cycles = cycles::found();
    let sizes = || cycles.values().flatten().map(Vec::len);
    let sdk: BTreeMap<&str, Items> = SDK
        .iter()
        .map(|name| (*name, items(&crates[*name])))
        .collect();
    let of_all = |count: fn(&Items) -> usize| sdk.values().map(count).sum::<usize>();
    let shares = || sdk.values().map(Items::documentation);
    let (largest, lines) = largest_crate();
    vec![
        (
            "import cycles of files, whole repository",
            "20, the largest 150 files",
            "0",
            format!(
                "{}, the largest {} files, {} files in all",
                sizes().count(),
                sizes().max().unwrap_or_default(),
                sizes().sum::<usize>()
            ),
        ),
        (
            "`match (group, kind)` outside the registry's table",
            "24",
            "0",
            tables(&crates).to_string(),
        ),
        (
            "lines of the largest crate",
            "75,000",
            "25,000",
            format!("{lines} ({largest})"),
        ),
        (
            "crates compiled for a program / for its tests",
            "213–239 / 239",
            "150 / 200",
            format!(
                "{} / {}",
                programs::built_with("").len(),
                programs::built_with("testing").len()
            ),
        ),
        (
            "public items of the SDK with an example that runs",
            "6 %",
            "60 %",
            format!(
                "{} % of {}",
                percent(
                    of_all(|items| items.with_example),
                    of_all(|items| items.public)
                ),
                of_all(|items| items.public)
            ),
        ),
        (
            "lines of documentation in the SDK's crates",
            "10–16 %",
            "15–30 %",
            format!(
                "{}–{} %",
                shares().min().unwrap_or_default(),
                shares().max().unwrap_or_default()
            ),
        ),
        (
            "phrases where the field has a word; in the README and the guide",
            "hundreds",
            "0",
            {
                let found = phrases::found();
                let in_guide = |part: &str| found.get(part).map_or(0, Vec::len);
                format!(
                    "{}; {}",
                    found.values().map(Vec::len).sum::<usize>(),
                    in_guide("docs/guide") + in_guide("README.md")
                )
            },
        ),
    ]
}

fn percent(part: usize, whole: usize) -> usize {
    (part * 100 + whole / 2) / whole.max(1)
}

/// Returns the crate of the repository with the most lines below `src`, its unit tests included.
fn largest_crate() -> (String, usize) {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(".rs") {
        if let Some((name, _)) = file.path.split_once("/src/") {
            *lines.entry(name.to_owned()).or_default() += file.text.lines().count();
        }
    }
    let largest = lines.into_iter().max_by_key(|(_, lines)| *lines);
    largest.unwrap_or_default()
}

/// Returns the number of places in the API server that decide by group and kind.
fn tables(crates: &BTreeMap<String, Vec<File>>) -> usize {
    let mut found = Tables(0);
    for (name, files) in crates {
        if name.starts_with("apiserver/") {
            for file in files {
                found.visit_file(&parsed(file));
            }
        }
    }
    found.0
}

fn parsed(file: &File) -> syn::File {
    syn::parse_file(&file.text).expect("what compiles can be parsed")
}

/// Counts matches on a pair of a group and a kind.
struct Tables(usize);

impl Tables {
    fn look_at(&mut self, matched: &syn::Expr) {
        let syn::Expr::Tuple(pair) = matched else {
            return;
        };
        let names = |at: usize, word: &str| {
            let element = pair.elems.get(at);
            element.is_some_and(|element| element.to_token_stream().to_string().contains(word))
        };
        if names(0, "group") && names(1, "kind") {
            self.0 += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Tables {
    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.look_at(&expression.expr);
        visit::visit_expr_match(self, expression);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        if called.path.is_ident("matches") {
            let first = called.parse_body_with(|input: syn::parse::ParseStream<'_>| {
                let first: syn::Expr = input.parse()?;
                input.parse::<proc_macro2::TokenStream>()?;
                Ok(first)
            });
            if let Ok(first) = first {
                self.look_at(&first);
            }
        }
    }
}

/// The public items of a crate and its documentation.
#[derive(Default)]
struct Items {
    public: usize,
    with_example: usize,
    lines: usize,
    lines_of_documentation: usize,
}

impl Items {
    fn documentation(&self) -> usize {
        percent(self.lines_of_documentation, self.lines)
    }

    fn public(&mut self, visibility: &syn::Visibility, attributes: &[syn::Attribute]) {
        let hidden = attributes
            .iter()
            .any(|attribute| attribute.to_token_stream().to_string() == "# [doc (hidden)]");
        // The compiler warns of what is public and cannot be reached.
        if matches!(visibility, syn::Visibility::Public(_)) && !hidden {
            self.public += 1;
            self.with_example += usize::from(has_example(attributes));
        }
    }
}

fn items(files: &[File]) -> Items {
    let mut items = Items::default();
    for file in files {
        items.visit_file(&parsed(file));
        for line in file.text.lines().map(str::trim) {
            items.lines += usize::from(!line.is_empty());
            let is_documentation = line.starts_with("///") || line.starts_with("//!");
            items.lines_of_documentation += usize::from(is_documentation);
        }
    }
    items
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.public(&item.vis, &item.attrs);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.public(&item.vis, &item.attrs);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.public(&item.vis, &item.attrs);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.public(&item.vis, &item.attrs);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.public(&item.vis, &item.attrs);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !cycles::is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.public(&item.vis, &item.attrs);
    }
}

/// Whether the documentation has a block of Rust code; all of them are run.
fn has_example(attributes: &[syn::Attribute]) -> bool {
    let mut inside = false;
    attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(documentation) if documentation.path.is_ident("doc") => {
                Some(documentation.value.to_token_stream().to_string())
            }
            _ => None,
        })
        .filter_map(|line| {
            let line = line.trim_matches('"').trim().to_owned();
            line.strip_prefix("```").map(str::to_owned)
        })
        .any(|language| {
            inside = !inside;
            let is_rust = language.is_empty() || language.starts_with("rust");
            inside && is_rust
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Vec<File> {
        let (path, text) = ("src/lib.rs".to_owned(), text.to_owned());
        vec![File { path, text }]
    }

    #[test]
    fn items_that_users_reach_are_counted_with_their_examples() {
        let counted = items(&file(
            "/// A.\n///\n/// ```\n/// a();\n/// ```\npub fn a() {}\n\
             /// B.\n///\n/// ```text\n/// b\n/// ```\npub struct B;\n\
             impl B { /// C.\n pub fn c(&self) {} fn d(&self) {} }\n\
             pub(crate) struct E;\n#[doc(hidden)]\npub fn f() {}\n\
             #[cfg(test)]\nmod tests { pub fn g() {} }",
        ));
        assert_eq!((counted.public, counted.with_example), (3, 1));
    }

    #[test]
    fn tables_by_group_and_kind_are_counted_wherever_they_stand() {
        let table = |code: &str| {
            let files = file(&format!("fn f() {{ {code} }}"));
            tables(&BTreeMap::from([("apiserver/a".to_owned(), files)]))
        };
        assert_eq!(table("match (group, kind) { _ => {} }"), 1);
        assert_eq!(
            table("matches!((r.group.as_str(), r.kind.as_str()), (\"\", \"Pod\"))"),
            1
        );
        assert_eq!(table("match (kind, name) { _ => {} }"), 0);
        assert_eq!(table("matches!(group, \"apps\")"), 0);
    }
}
