//! Import cycles between the source files of a crate: no file of a cycle can be read before the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use syn::visit::{self, Visit};

use crate::tree::{File, files};

#[test]
fn no_file_is_part_of_an_import_cycle() {
    let found = found();
    assert!(found.is_empty(), "files import each other: {found:#?}");
}

#[test]
fn import_cycles_are_found_through_re_exports() {
    let file = |path: &str, text: &str| File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let cycle = |second: &str| {
        let files = [
            file("src/lib.rs", "mod a; mod b; pub use b::B; mod c;"),
            file("src/a.rs", "use super::B; pub struct A;"),
            file("src/b.rs", second),
            file("src/c.rs", "use crate::a::A; use crate::B;"),
        ];
        cycles(&Crate::read(&files).arrows())
    };
    let both = vec![vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()]];
    assert_eq!(cycle("pub struct B(crate::a::A);"), both);
    assert_eq!(cycle("pub struct B; fn f() { let _ = super::a::A; }"), both);
    // Tests may import the code under test, and comments are no imports.
    assert!(cycle("pub struct B; #[cfg(test)] mod tests { use crate::a::A; }").is_empty());
    assert!(cycle("pub struct B; // crate::a::A").is_empty());
    // Visibility is no import.
    assert!(cycle("pub(in crate::a) struct B;").is_empty());
}

/// Returns the import cycles of each crate that has some, the largest first: sets of files that all reach each other.
pub fn found() -> BTreeMap<String, Vec<Vec<String>>> {
    crates()
        .into_iter()
        .map(|(name, files)| (name, cycles(&Crate::read(&files).arrows())))
        .filter(|(_, cycles)| !cycles.is_empty())
        .collect()
}

/// Returns the imports between the files of each cycle of a crate, a line for each.
///
/// # Panics
///
/// If the repository has no such crate.
#[expect(clippy::panic, reason = "the caller names a crate at a terminal")]
pub fn imports(name: &str) -> String {
    let crates = crates();
    let files = crates
        .get(name)
        .unwrap_or_else(|| panic!("{name:?} is none of {:?}", crates.keys()));
    let read = Crate::read(files);
    let arrows = read.arrows();
    let mut text = String::new();
    for cycle in cycles(&arrows) {
        let _ = writeln!(text, "# {} files", cycle.len());
        for from in &cycle {
            let within = arrows[&**from]
                .iter()
                .filter(|to| cycle.iter().any(|file| file == *to));
            for to in within {
                let _ = writeln!(text, "{from} -> {to}");
            }
        }
    }
    text
}

/// Returns the files of its crate that each file of a crate imports.
///
/// # Panics
///
/// If the repository has no such crate.
#[cfg(test)]
pub(crate) fn imports_of(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let read = Crate::read(&crates()[name]);
    let arrows = read.arrows().into_iter();
    let owned = |files: BTreeSet<&str>| files.into_iter().map(str::to_owned).collect();
    arrows
        .map(|(file, imported)| (file.to_owned(), owned(imported)))
        .collect()
}

/// Returns the source files of each crate, without tests.
///
/// # Panics
///
/// If git cannot list the files of the repository.
pub fn crates() -> BTreeMap<String, Vec<File>> {
    let mut crates: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files(".rs") {
        let Some((place, within)) = file.path.split_once("/src/") else {
            continue;
        };
        let is_test = within
            .split(['/', '.'])
            .any(|part| part == "tests" || part == "testing");
        // Inputs and outputs of the scaffolder's tests.
        let is_case = place.starts_with("tests/scaffold/cases") || place.starts_with("fuzz");
        if !is_test && !is_case {
            let (place, path) = (place.to_owned(), format!("src/{within}"));
            crates.entry(place).or_default().push(File { path, ..file });
        }
    }
    crates
}

/// The files of a crate as modules.
struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

struct Module {
    file: String,
    /// Imported names and the paths that they resolve to.
    names: BTreeMap<String, Vec<String>>,
    /// Paths that the code names, from the root of the crate.
    paths: BTreeSet<Vec<String>>,
}

impl Crate {
    fn read(files: &[File]) -> Self {
        let mut modules = BTreeMap::new();
        for file in files {
            let place = module_of(&file.path);
            let parsed = syn::parse_file(&file.text).expect("what compiles can be parsed");
            let mut read = Read {
                place: place.clone(),
                names: BTreeMap::new(),
                paths: BTreeSet::new(),
            };
            read.visit_file(&parsed);
            let module = Module {
                file: file.path.clone(),
                names: read.names,
                paths: read.paths,
            };
            modules.insert(place, module);
        }
        Self { modules }
    }

    /// Returns the imports of each file.
    fn arrows(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut arrows = BTreeMap::new();
        for module in self.modules.values() {
            let to: BTreeSet<&str> = module
                .paths
                .iter()
                .filter_map(|path| self.definer(path, 0))
                .filter(|file| *file != module.file)
                .collect();
            arrows.insert(&*module.file, to);
        }
        arrows
    }

    /// Returns the file that defines the item of a path.
    fn definer(&self, path: &[String], turns: usize) -> Option<&str> {
        // The longest prefix that is a module; the next segment is an item of it.
        let depth = (0..=path.len())
            .rev()
            .find(|depth| self.modules.contains_key(&path[..*depth]))?;
        let module = &self.modules[&path[..depth]];
        let Some(name) = path.get(depth) else {
            return Some(&module.file);
        };
        match module.names.get(name) {
            // A name that resolves to itself is a macro or an external crate.
            Some(elsewhere) if turns < 8 => {
                let mut elsewhere = elsewhere.clone();
                elsewhere.extend_from_slice(&path[depth + 1..]);
                self.definer(&elsewhere, turns + 1)
            }
            _ => Some(&module.file),
        }
    }
}

/// Returns the module path of a file: `a` for `src/a/mod.rs` and `src/a.rs`.
fn module_of(path: &str) -> Vec<String> {
    let within = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut parts: Vec<String> = within.split('/').map(str::to_owned).collect();
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    parts
}

/// Collects the imports and paths of one file.
struct Read {
    place: Vec<String>,
    names: BTreeMap<String, Vec<String>>,
    paths: BTreeSet<Vec<String>>,
}

impl Read {
    /// Resolves a path to the root of the crate. Returns none for paths to other crates.
    fn absolute(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut place = match segments.first()?.as_str() {
            "crate" => return Some(segments[1..].to_vec()),
            "self" | "super" => self.place.clone(),
            _ => return None,
        };
        let mut rest = segments;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "self" => {}
                "super" => drop(place.pop()),
                _ => break,
            }
            rest = others;
        }
        place.extend_from_slice(rest);
        Some(place)
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String], is_re_export: bool) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            path.push(name.to_string());
            path
        };
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), is_re_export),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, is_re_export);
                }
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let bound = before.last().cloned().unwrap_or_default();
                self.bind(bound, before, is_re_export);
            }
            syn::UseTree::Name(name) => {
                self.bind(name.ident.to_string(), &with(&name.ident), is_re_export);
            }
            syn::UseTree::Rename(name) => {
                self.bind(name.rename.to_string(), &with(&name.ident), is_re_export);
            }
            syn::UseTree::Glob(_) => self.name(before),
        }
    }

    /// Records an import. A re-export binds a name but is not counted as an import.
    fn bind(&mut self, name: String, path: &[String], is_re_export: bool) {
        let absolute = self.absolute(path).or_else(|| {
            // `use lists::join` beside `mod lists`.
            let mut child = self.place.clone();
            child.extend_from_slice(path);
            Some(child)
        });
        if let Some(absolute) = absolute {
            self.names.insert(name, absolute);
        }
        if !is_re_export {
            self.name(path);
        }
    }

    fn name(&mut self, path: &[String]) {
        if let Some(path) = self.absolute(path) {
            self.paths.insert(path);
        } else if !path.is_empty() {
            let mut child = self.place.clone();
            child.extend_from_slice(path);
            self.paths.insert(child);
        }
    }
}

impl<'ast> Visit<'ast> for Read {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_item_for_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_re_export = !matches!(item.vis, syn::Visibility::Inherited);
        self.import(&item.tree, &[], is_re_export);
    }

    // `pub(super)` names a module without importing from it.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let leads = segments.len() > 1 || matches!(segments[0].as_str(), "crate" | "super");
        if leads && path.leading_colon.is_none() {
            self.name(&segments);
        }
        visit::visit_path(self, path);
    }
}

fn is_item_for_tests(item: &syn::Item) -> bool {
    match item {
        syn::Item::Mod(item) => is_for_tests(&item.attrs),
        syn::Item::Use(item) => is_for_tests(&item.attrs),
        syn::Item::Fn(item) => is_for_tests(&item.attrs),
        syn::Item::Impl(item) => is_for_tests(&item.attrs),
        _ => false,
    }
}

/// Whether an item with these attributes is compiled for tests only.
pub(crate) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|what| what.is_ident("test") || what.is_ident("doctest"))
    })
}

/// Returns the cycles, the largest first: sets of files that all reach each other.
fn cycles(arrows: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reached = |from: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            for next in arrows.get(file).into_iter().flatten() {
                if seen.insert(*next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (*file, reached(file))).collect();
    let mut cycles: Vec<Vec<String>> = Vec::new();
    let mut known = BTreeSet::new();
    for (file, reached) in &all {
        if !reached.contains(file) || known.contains(file) {
            continue;
        }
        let cycle: Vec<&str> = reached
            .iter()
            .copied()
            .filter(|other| all.get(other).is_some_and(|reached| reached.contains(file)))
            .collect();
        known.extend(cycle.iter().copied());
        cycles.push(cycle.into_iter().map(str::to_owned).collect());
    }
    cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    cycles
}
