//! The readers on sources as short as they can be. Whether the tables are current is what `--check` says.

use std::collections::BTreeMap;

use crate::model::Types;
use crate::{declarations, openapi, protobuf, tables};

const WIDGET: &str = r#"// Generated from definition io.k8s.api.demo.v1.Widget

/// Widget is for \<tests\>.
pub struct Widget {
    /// How many.
    pub count: Option<i32>,

    pub metadata: crate::apimachinery::pkg::apis::meta::v1::ObjectMeta,

    /// Its parts.
    ///
    /// All of them.
    pub parts: std::vec::Vec<crate::api::demo::v1::Part>,

    pub type_: Option<std::string::String>,
}

impl crate::Resource for Widget {
    const API_VERSION: &'static str = "demo/v1";
}

impl<'de> crate::serde::Deserialize<'de> for Widget {
    "apiVersion" => Field::Key_api_version,
    "count" => Field::Key_count,
    "metadata" => Field::Key_metadata,
    "parts" => Field::Key_parts,
    "type" => Field::Key_type_,
}
"#;

const MESSAGES: &str = r#"
pub struct Widget {
    #[prost(int32, optional, tag = "3")]
    pub count: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub widget_source: Option<WidgetSource>,
}
pub struct WidgetSource {
    /// Its parts.
    /// +patchMergeKey=name
    /// +patchStrategy=merge
    /// +listType=map
    /// +listMapKey=name
    #[prost(message, repeated, tag = "7")]
    pub parts: Vec<Part>,
}
"#;

fn types() -> Types {
    let definitions = [
        (
            "apimachinery::pkg::apis::meta::v1::ObjectMeta",
            "apimachinery.pkg.apis.meta.v1.ObjectMeta",
        ),
        ("api::demo::v1::Part", "api.demo.v1.Part"),
    ];
    let definitions: BTreeMap<String, String> = definitions
        .iter()
        .map(|(path, name)| ((*path).to_owned(), (*name).to_owned()))
        .collect();
    let (name, widget) = openapi::read_type(WIDGET, &definitions).unwrap().unwrap();
    Types::from([(name, widget)])
}

fn table(types: &Types) -> Vec<String> {
    let text = tables::types(types);
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_type_is_read_with_its_json_names_and_what_is_required() {
    assert_eq!(
        table(&types()),
        [
            "type api.demo.v1.Widget demo/v1",
            " kind - string",
            " apiVersion - string",
            " count - *int32",
            " metadata - apimachinery.pkg.apis.meta.v1.ObjectMeta",
            " parts - []Part !",
            " type - string",
        ]
    );
}

#[test]
fn numbers_and_merge_rules_come_from_the_messages_through_inlined_ones_too() {
    let mut messages = protobuf::Messages::new();
    protobuf::read_module(MESSAGES, "api.demo.v1", &mut messages).unwrap();
    let mut types = types();
    protobuf::add(&messages, &[], &mut types).unwrap();
    let table = table(&types);
    assert_eq!(table[3], " count 3 *int32");
    assert_eq!(
        table[4],
        " parts 2.7 []Part ! in=WidgetSource merge=name keys=name"
    );
}

#[test]
fn declarations_change_what_is_usual() {
    let mut types = types();
    let text = "# why\n\ntype api.demo.v1.Widget\n count value\n parts omitempty number=9 set\n type as=v1.WidgetType * always\n";
    declarations::add(text, &mut types).unwrap();
    let table = table(&types);
    assert_eq!(table[3], " parts 9 []Part required set");
    assert_eq!(table[4], " count - int32");
    assert_eq!(table[6], " type - *v1.WidgetType=string always");
}

#[test]
fn declarations_of_what_is_not_there_are_refused() {
    for text in [
        "type api.demo.v1.Gadget\n",
        "type api.demo.v1.Widget\n color value\n",
    ] {
        let error = declarations::add(text, &mut types())
            .unwrap_err()
            .to_string();
        assert!(error.contains("which is no"), "{error}");
    }
}

#[test]
fn descriptions_stand_in_one_line_each() {
    let text = tables::descriptions(&types());
    assert!(text.contains("\ntype api.demo.v1.Widget\nWidget is for <tests>.\ncount\tHow many.\n"));
    assert!(text.contains("\nparts\tIts parts.\\n\\nAll of them.\n"));
}
