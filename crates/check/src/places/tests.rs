//! Paths lead to values, whatever the form of the YAML.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

/// The source's text at a path, and the path's rest that is missing.
fn at<'a>(source: &'a str, path: &str) -> (&'a str, String) {
    let place = Places::read(source).unwrap().find(path).unwrap();
    (&source[place.value], place.missing)
}

fn value<'a>(source: &'a str, path: &str) -> &'a str {
    let (value, missing) = at(source, path);
    assert_eq!(missing, "", "{path} is missing");
    value
}

#[test]
fn a_field_path_leads_to_its_value() {
    let source = "spec:\n  ports:\n  - name: web\n    port: 80\n  - {name: 'x', port: 0x1F}\ndata: {a.b/c: \"d\", 'q[0]': e}\n";
    for (path, expected) in [
        ("spec.ports[0].port", "80"),
        ("spec.ports[1].name", "'x'"),
        (".spec.ports[1].port", "0x1F"),
        (".spec.ports[name=\"x\"].port", "0x1F"),
        ("spec.ports[port=80].name", "web"),
        ("data[a.b/c]", "\"d\""),
        ("data.a.b/c", "\"d\""),
        ("data[q[0]]", "e"),
        ("spec.ports[1]", "{name: 'x', port: 0x1F}"),
    ] {
        assert_eq!(value(source, path), expected, "{path}");
    }
}

#[test]
fn a_missing_field_leads_to_what_would_have_it() {
    let source = "spec:\n  template:\n    spec: {containers: []}\n";
    assert_eq!(
        at(source, "spec.template.metadata.labels"),
        ("spec: {containers: []}", "metadata.labels".to_owned())
    );
    assert_eq!(
        at(source, "spec.template.spec.containers[3].image"),
        ("[]", "[3].image".to_owned())
    );
    let place = Places::read(source)
        .unwrap()
        .find("spec.template.metadata")
        .unwrap();
    assert_eq!(&source[place.key.unwrap()], "template");
}

#[test]
fn an_alias_leads_to_the_value_and_says_where_it_is_used() {
    let source = "base: &base {image: nginx, env: &e [a, b]}\nuse: *base\nmerged:\n  <<: *base\n  image: redis\n";
    let places = Places::read(source).unwrap();
    let place = places.find("use.image").unwrap();
    assert_eq!(&source[place.value], "nginx");
    assert_eq!(&source[place.alias.unwrap()], "*base");
    assert_eq!(value(source, "merged.image"), "redis");
    let place = places.find("merged.env[1]").unwrap();
    assert_eq!(&source[place.value.clone()], "b");
    assert_eq!(
        place.alias,
        Some(source.rfind("*base").unwrap()..source.rfind("*base").unwrap() + 5)
    );
}

#[test]
fn a_document_that_contains_itself_ends() {
    let source = "a: &a\n  b: *a\n  <<: *a\n";
    if let Ok(places) = Places::read(source) {
        let place = places.find("a.b.b.b.c").unwrap();
        assert_eq!(place.missing, "c");
    }
}

#[test]
fn the_last_of_several_equal_keys_counts() {
    assert_eq!(value("a: 1\nb: 2\na: 3\n", "a"), "3");
}

#[test]
fn json_has_places_too() {
    let source = "{\n\t\"spec\": {\"replicas\": \"three\",\r\n\t\t\"x\": [1, {\"y\": null}]}\n}";
    assert_eq!(value(source, "spec.replicas"), "\"three\"");
    assert_eq!(value(source, "spec.x[1].y"), "null");
}

/// A value to write in one of YAML's styles.
#[derive(Clone, Debug)]
enum Tree {
    Scalar(String),
    List(Vec<Self>),
    Map(Vec<Self>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let scalar = "[a-z][a-z0-9]{0,6}( [a-z]{1,4})?".prop_map(Tree::Scalar);
    scalar.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::List),
            prop::collection::vec(inner, 1..4).prop_map(Tree::Map),
        ]
    })
}

/// The anchor of a scalar or a mapping.
struct Anchor {
    name: String,
    /// What is below it, with the path from there.
    inside: Vec<(String, Bytes)>,
    is_map: bool,
}

/// Writes a tree, and where each value is.
struct Writer<'a> {
    text: String,
    newline: &'static str,
    choices: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    /// Paths, and the bytes of their values.
    places: Vec<(String, Bytes)>,
    anchors: Vec<Anchor>,
    names: usize,
}

impl Writer<'_> {
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("a String takes any text");
    }

    fn choose(&mut self, among: u8) -> u8 {
        self.choices.next().map_or(0, |choice| choice % among)
    }

    /// A name for an anchor that no other has.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn scalar(&mut self, text: &str, path: &str) {
        let anchor = (self.choose(4) == 0).then(|| self.name());
        if let Some(name) = &anchor {
            self.write(format_args!("&{name} "));
        }
        let start = self.text.len();
        match self.choose(4) {
            0 => self.write(format_args!("'{text}''s'")),
            1 => self.write(format_args!("\"{text}\\té\\u00e9\"")),
            _ => self.text.push_str(text),
        }
        let bytes = start..self.text.len();
        self.places.push((path.to_owned(), bytes.clone()));
        if let Some(name) = anchor {
            self.anchors.push(Anchor {
                name,
                inside: vec![(String::new(), bytes)],
                is_map: false,
            });
        }
    }

    fn end_line(&mut self) {
        if self.choose(3) == 0 {
            self.text.push_str("  # é: [comment");
        }
        self.text.push_str(self.newline);
        if self.choose(5) == 0 {
            self.text.push_str(self.newline);
        }
    }

    /// In flow style, on one line.
    fn flow(&mut self, tree: &Tree, path: &str) {
        match tree {
            Tree::Scalar(text) => self.scalar(text, path),
            Tree::List(items) => {
                self.text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.text.push_str(", ");
                    }
                    self.flow(item, &format!("{path}[{index}]"));
                }
                self.text.push(']');
            }
            Tree::Map(values) => {
                self.text.push('{');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.text.push_str(", ");
                    }
                    self.write(format_args!("k{index}: "));
                    self.flow(value, &below(path, &format!("k{index}")));
                }
                self.text.push('}');
            }
        }
    }

    /// The value of a key or an element, behind its `:` or `-`.
    fn block(&mut self, tree: &Tree, path: &str, indent: usize) {
        let in_flow = self.choose(3) == 0;
        match tree {
            Tree::List(_) | Tree::Map(_) if in_flow => {
                self.text.push(' ');
                let start = self.text.len();
                self.flow(tree, path);
                self.places.push((path.to_owned(), start..self.text.len()));
                self.end_line();
            }
            Tree::Scalar(text) => {
                self.text.push(' ');
                self.scalar(text, path);
                self.end_line();
            }
            Tree::List(items) => {
                self.end_line();
                for (index, item) in items.iter().enumerate() {
                    self.write(format_args!("{:indent$}-", ""));
                    self.block(item, &format!("{path}[{index}]"), indent + 2);
                }
            }
            Tree::Map(values) => self.map(values, path, indent),
        }
    }

    fn map(&mut self, values: &[Tree], path: &str, indent: usize) {
        let name = (self.choose(2) == 0).then(|| self.name());
        if let Some(name) = &name {
            self.write(format_args!(" &{name}"));
        }
        self.end_line();
        let before = self.places.len();
        for (index, value) in values.iter().enumerate() {
            self.write(format_args!("{:indent$}k{index}:", ""));
            self.block(value, &below(path, &format!("k{index}")), indent + 2);
        }
        if let Some(name) = name {
            let inside = &self.places[before..];
            let inside = inside
                .iter()
                .map(|(full, bytes)| (full[path.len()..].to_owned(), bytes.clone()));
            let inside: Vec<(String, Bytes)> = inside.collect();
            self.anchors.push(Anchor {
                name,
                inside,
                is_map: true,
            });
        }
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

proptest! {
    #[test]
    fn each_path_leads_to_the_bytes_that_were_written_for_it(
        tree in tree(),
        choices in prop::collection::vec(any::<u8>(), 1..60),
        crlf in any::<bool>(),
    ) {
        let mut writer = Writer {
            text: String::new(),
            newline: if crlf { "\r\n" } else { "\n" },
            choices: choices.iter().cycle(),
            places: Vec::new(),
            anchors: Vec::new(),
            names: 0,
        };
        writer.text.push_str("root:");
        writer.block(&tree, "root", 2);
        let anchors = std::mem::take(&mut writer.anchors);
        let mut expected = std::mem::take(&mut writer.places);
        for Anchor { name, inside, is_map } in anchors {
            let newline = writer.newline;
            writer.write(format_args!("use-{name}: *{name}{newline}"));
            expected.extend(inside.iter().map(|(path, bytes)| (format!("use-{name}{path}"), bytes.clone())));
            if is_map {
                writer.write(format_args!("merge-{name}:{newline}  <<: *{name}{newline}  own: x{newline}"));
                expected.extend(inside.iter().map(|(path, bytes)| (format!("merge-{name}{path}"), bytes.clone())));
            }
        }
        let source = writer.text;
        let places = Places::read(&source).map_err(|error| TestCaseError::fail(format!("{error:?}\n{source}")))?;
        for (path, bytes) in expected {
            let place = places.find(&path);
            let place = place.ok_or_else(|| TestCaseError::fail(format!("no {path}\n{source}")))?;
            prop_assert_eq!(&place.missing, "", "{}\n{}", path, source);
            prop_assert_eq!(&source[place.value], &source[bytes], "{}\n{}", path, source);
        }
    }
}
