//! The readers on sources as short as they can be. Whether the tables are current is what `--check` says.

use std::collections::BTreeMap;

use crate::model::Types;
use crate::{declarations, openapi, tables};

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
fn declarations_say_what_the_schema_does_not() {
    let mut types = types();
    let text = "# why\n\ntype api.demo.v1.Widget\n count value omitempty number=3 place=2\n \
                parts value omitempty of=v1.Piece number=2.7 place=1.1 in=WidgetSource required merge=name keys=name\n \
                type * always as=v1.WidgetType number=9 place=3\n";
    declarations::add(text, &mut types).unwrap();
    let table = table(&types);
    assert_eq!(
        table[3],
        " parts 2.7 []v1.Piece=Part required in=WidgetSource merge=name keys=name"
    );
    assert_eq!(table[4], " count 3 int32");
    assert_eq!(table[5], " type 9 *v1.WidgetType=string always");
}

#[test]
fn declarations_bring_the_requests_that_have_no_schema() {
    let mut types = types();
    let text = "type api.demo.v1.Widget\n\ntype api.demo.v1.WidgetOptions new\n \
                paths is=[]string value omitempty number=1 place=2\n";
    declarations::add(text, &mut types).unwrap();
    let table = table(&types);
    assert_eq!(table[7], "type api.demo.v1.WidgetOptions");
    assert_eq!(table[10], " paths 1 []string");
}

#[test]
fn declarations_and_the_schema_have_the_same_types_and_fields() {
    for (text, said) in [
        (
            "type api.demo.v1.Gadget\n",
            "do not have api.demo.v1.Widget",
        ),
        (
            "type api.demo.v1.Widget\n color value\n",
            "color is no field",
        ),
    ] {
        let error = declarations::add(text, &mut types()).unwrap_err();
        assert!(format!("{error:#}").contains(said), "{error:#}");
    }
}
