//! A column of the table that `kubectl get` shows.

/// One column of a table: a `TableColumnDefinition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the five members of a TableColumnDefinition"
)]
pub struct Column<'a> {
    /// The title, such as `Up-to-date`.
    pub name: &'a str,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: &'a str,
    /// `name` for the object's name, otherwise mostly empty.
    pub format: &'a str,
    /// What the column shows.
    pub description: &'a str,
    /// 0, or 1 for a column that only the wide output shows.
    pub priority: i64,
}
