//! The columns that many kinds have, and how others are described.

use crate::column::Column;

pub(crate) const NAME: Column<'static> = named(text(
    "Name",
    "the object's name, unique within its namespace",
));

pub(crate) const AGE: Column<'static> = text("Age", "how long ago the object was created");

pub(crate) const CONTAINERS: Column<'static> = wide("Containers", "the names of the containers");

pub(crate) const IMAGES: Column<'static> = wide("Images", "the images of the containers");

pub(crate) const SELECTOR: Column<'static> = wide("Selector", "which pods belong to it");

pub(crate) const fn text(name: &'static str, description: &'static str) -> Column<'static> {
    Column {
        name,
        kind: "string",
        format: "",
        description,
        priority: 0,
    }
}

pub(crate) const fn integer(name: &'static str, description: &'static str) -> Column<'static> {
    Column {
        kind: "integer",
        ..text(name, description)
    }
}

pub(crate) const fn boolean(name: &'static str, description: &'static str) -> Column<'static> {
    Column {
        kind: "boolean",
        ..text(name, description)
    }
}

pub(crate) const fn wide(name: &'static str, description: &'static str) -> Column<'static> {
    Column {
        priority: 1,
        ..text(name, description)
    }
}

pub(crate) const fn named(column: Column<'static>) -> Column<'static> {
    Column {
        format: "name",
        ..column
    }
}
