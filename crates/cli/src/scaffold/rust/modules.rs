//! Declarations of modules: added where they sort, and removed.

use std::ops::Range;

use syn::{Item, ItemMod};

use super::{Source, range};

/// Adds `mod name;` to a file, with the visibility that is given, if the module is not there yet.
pub(crate) fn add_module(text: &str, visibility: &str, name: &str) -> Result<String, String> {
    let source = Source::read(text)?;
    Ok(add(
        &source,
        &source.file.items,
        first_place(&source),
        visibility,
        name,
    ))
}

/// Removes the declaration of a module, if it is there.
pub(crate) fn remove_module(text: &str, name: &str) -> Result<String, String> {
    let source = Source::read(text)?;
    let found = source
        .file
        .items
        .iter()
        .find_map(|item| outside(item, name));
    Ok(found.map_or_else(|| text.to_owned(), |module| without(&source, range(module))))
}

/// Declares a kind in the table of kinds, `pub mod group { pub mod version { … } }`, and what its module makes public.
pub(crate) fn add_api(text: &str, api: &Api<'_>) -> Result<String, String> {
    let source = Source::read(text)?;
    let Api {
        group,
        group_name,
        version,
        module,
        public,
    } = *api;
    let version_name = format!("{group_name}/{version}");
    let kind = format!("        mod {module};\n\n        pub use {module}::{public};\n");
    let whole_version =
        format!("    /// `{version_name}`\n    pub mod {version} {{\n{kind}    }}\n");
    let Some((braces, items)) = inside(&source.file.items, group) else {
        let whole = format!("/// `{group_name}`\npub mod {group} {{\n{whole_version}}}\n");
        return Ok(format!("{}\n\n{whole}", text.trim_end()));
    };
    let Some((braces, items)) = inside(items, version) else {
        return Ok(source.insert(
            source.line_start(braces.end - 1),
            &format!("\n{whole_version}"),
        ));
    };
    if items.iter().any(|item| outside(item, module).is_some()) {
        return Ok(text.to_owned());
    }
    let exported = source.insert(
        source.line_start(braces.end - 1),
        &format!("        pub use {module}::{public};\n"),
    );
    let source = Source::read(&exported)?;
    let place = inside(&source.file.items, group)
        .and_then(|(_, items)| inside(items, version))
        .ok_or("its modules are not where they were")?;
    let at = source.next_line(place.0.start);
    let new = add(&source, place.1, at, "", module);
    Ok(new)
}

/// Takes a kind from the table of kinds, with modules that are empty then.
pub(crate) fn remove_api(text: &str, api: &Api<'_>) -> Result<String, String> {
    let mut text = text.to_owned();
    for step in 0..2 {
        let source = Source::read(&text)?;
        let items =
            inside(&source.file.items, api.group).and_then(|(_, items)| inside(items, api.version));
        let Some((_, items)) = items else {
            return Ok(text);
        };
        let found = items.iter().find(|item| match item {
            Item::Use(used) if step == 0 => {
                let path = quote::ToTokens::to_token_stream(&used.tree).to_string();
                path.starts_with(&format!("{} ::", api.module))
            }
            item => step == 1 && outside(item, api.module).is_some(),
        });
        if let Some(item) = found {
            text = without(&source, range(item));
        }
    }
    for names in [&[api.group, api.version][..], &[api.group]] {
        let source = Source::read(&text)?;
        let mut items = &source.file.items[..];
        let mut empty = None;
        for name in names {
            let found = items.iter().find_map(|item| named(item, name));
            let Some((module, content)) =
                found.and_then(|module| Some((module, module.content.as_ref()?)))
            else {
                return Ok(text);
            };
            items = &content.1;
            empty = Some((module, items.is_empty()));
        }
        if let Some((module, true)) = empty {
            text = without(&source, range(module));
        }
    }
    Ok(text)
}

/// A kind in the table of kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Api<'a> {
    /// The module of its group, and the group's whole name.
    pub(crate) group: &'a str,
    pub(crate) group_name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) module: &'a str,
    /// Its types, such as `{WhiteList, WhiteListSpec}`.
    pub(crate) public: &'a str,
}

/// Adds a declaration behind those that sort before it, or at `place` if there are none.
fn add(source: &Source<'_>, items: &[Item], place: usize, visibility: &str, name: &str) -> String {
    let modules: Vec<&ItemMod> = items
        .iter()
        .filter_map(|item| match item {
            Item::Mod(module) if module.content.is_none() => Some(module),
            _ => None,
        })
        .collect();
    if modules.iter().any(|module| module.ident == name) {
        return source.text.to_owned();
    }
    let declaration = format!("{visibility}mod {name};\n");
    let before = modules
        .iter()
        .rev()
        .find(|module| module.ident.to_string().as_str() < name);
    if let Some(module) = before.or_else(|| modules.first()) {
        let range = range(*module);
        let indent = source.indent(range.start);
        let at = if before.is_some() {
            source.next_line(range.end)
        } else {
            above_comments(source, range.start)
        };
        return source.insert(at, &format!("{indent}{declaration}"));
    }
    let follows_text = source.text[place..]
        .lines()
        .next()
        .is_some_and(|line| !line.trim().is_empty());
    let gap = if follows_text { "\n" } else { "" };
    source.insert(
        place,
        &format!("{}{declaration}{gap}", before_gap(source, place)),
    )
}

/// Where the comments begin that stand directly above a place, and are about it.
fn above_comments(source: &Source<'_>, at: usize) -> usize {
    let mut start = source.line_start(at);
    while let Some(above) = start.checked_sub(1).map(|end| source.line_start(end)) {
        let line = source.text[above..start].trim();
        if !line.starts_with("//") || line.starts_with("//!") {
            break;
        }
        start = above;
    }
    start
}

/// A blank line, unless there is one already or nothing before.
fn before_gap(source: &Source<'_>, place: usize) -> &'static str {
    let before = &source.text[..place];
    let is_open = before.trim_end().ends_with('{');
    if before.is_empty() || before.ends_with("\n\n") || before.ends_with("\r\n\r\n") || is_open {
        ""
    } else {
        "\n"
    }
}

/// Where declarations go in a file that has none: behind its documentation and attributes.
fn first_place(source: &Source<'_>) -> usize {
    match source
        .file
        .attrs
        .iter()
        .map(|attribute| range(attribute).end)
        .max()
    {
        Some(end) => {
            let at = source.next_line(end);
            // The blank line behind them stays above what comes.
            if source.text[at..].starts_with('\n') {
                at + 1
            } else {
                at
            }
        }
        None => 0,
    }
}

/// The range of a module with its braces, and the items between them.
fn inside<'a>(items: &'a [Item], name: &str) -> Option<(Range<usize>, &'a [Item])> {
    let module = items.iter().find_map(|item| named(item, name))?;
    let (braces, items) = module.content.as_ref()?;
    let range = braces.span.open().byte_range().start..braces.span.close().byte_range().end;
    Some((range, items))
}

fn outside<'a>(item: &'a Item, name: &str) -> Option<&'a ItemMod> {
    named(item, name).filter(|module| module.content.is_none())
}

fn named<'a>(item: &'a Item, name: &str) -> Option<&'a ItemMod> {
    match item {
        Item::Mod(module) if module.ident == name => Some(module),
        _ => None,
    }
}

/// The text without an item and its line, and without a blank line that would be one too many.
fn without(source: &Source<'_>, item: Range<usize>) -> String {
    let (start, mut end) = (source.line_start(item.start), source.next_line(item.end));
    let before = source.text[..start].trim_end_matches([' ', '\t']);
    let after = &source.text[end..];
    let is_gap = before.ends_with("\n\n") || before.trim_end().ends_with('{') || before.is_empty();
    if is_gap && after.starts_with('\n') {
        end += 1;
    }
    let new = source.replace(start..end, "");
    let is_last =
        source.text[end..].trim_start().starts_with('}') || source.text[end..].trim().is_empty();
    if is_gap && is_last {
        // Nothing follows that a blank line could set apart.
        let kept = new[..start].trim_end();
        return format!("{kept}\n{}", &new[start..]);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: Api<'_> = Api {
        group: "police",
        group_name: "police.foo.bar",
        version: "v1",
        module: "white_list",
        public: "{WhiteList, WhiteListSpec}",
    };

    #[test]
    fn a_module_is_declared_behind_the_documentation() {
        let text = "//! Mine.\n\nuse a::b;\n";
        let new = add_module(text, "pub ", "api").unwrap();
        assert_eq!(new, "//! Mine.\n\npub mod api;\n\nuse a::b;\n");
        assert_eq!(add_module(&new, "pub ", "api").unwrap(), new);
        assert_eq!(remove_module(&new, "api").unwrap(), text);
    }

    #[test]
    fn modules_are_sorted_and_comments_stay_with_what_they_are_about() {
        let text = "// The middle.\nmod m; // and why\n\nfn main() {}\n";
        let later = add_module(text, "", "z").unwrap();
        assert_eq!(
            later,
            "// The middle.\nmod m; // and why\nmod z;\n\nfn main() {}\n"
        );
        let first = add_module(text, "", "a").unwrap();
        assert_eq!(
            first,
            "mod a;\n// The middle.\nmod m; // and why\n\nfn main() {}\n"
        );
        let between = add_module(&later, "", "n").unwrap();
        assert_eq!(
            between,
            "// The middle.\nmod m; // and why\nmod n;\nmod z;\n\nfn main() {}\n"
        );
    }

    #[test]
    fn line_ends_of_windows_stay() {
        let new = add_module("//! Mine.\r\n\r\nmod a;\r\n", "", "b").unwrap();
        assert_eq!(new, "//! Mine.\r\n\r\nmod a;\r\nmod b;\r\n");
    }

    #[test]
    fn the_table_of_kinds_grows_and_shrinks() {
        let empty = "//! Kinds.\n";
        let one = add_api(empty, &API).unwrap();
        assert_eq!(
            one,
            "//! Kinds.\n\n/// `police.foo.bar`\npub mod police {\n    /// `police.foo.bar/v1`\n    pub mod v1 {\n        \
             mod white_list;\n\n        pub use white_list::{WhiteList, WhiteListSpec};\n    }\n}\n"
        );
        assert_eq!(add_api(&one, &API).unwrap(), one, "it is there");

        let other = Api {
            module: "patrol",
            public: "{Patrol, PatrolSpec}",
            ..API
        };
        let two = add_api(&one, &other).unwrap();
        assert!(
            two.contains("    pub mod v1 {\n        mod patrol;\n        mod white_list;\n\n"),
            "{two}"
        );
        let newer = Api {
            version: "v2",
            ..API
        };
        let three = add_api(&two, &newer).unwrap();
        assert!(
            three.contains("    }\n\n    /// `police.foo.bar/v2`\n    pub mod v2 {\n"),
            "{three}"
        );
        let far = Api {
            group: "ship",
            group_name: "ship.foo.bar",
            ..API
        };
        let four = add_api(&three, &far).unwrap();
        assert!(syn::parse_file(&four).is_ok(), "{four}");

        let mut text = four;
        for (api, left) in [(&far, &three), (&newer, &two), (&other, &one)] {
            text = remove_api(&text, api).unwrap();
            assert_eq!(&text, left);
        }
        assert_eq!(remove_api(&text, &API).unwrap(), empty);
    }
}
