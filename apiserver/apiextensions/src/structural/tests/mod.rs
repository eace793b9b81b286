//! What schemas do to objects, as statements.
#![expect(
    clippy::needless_pass_by_value,
    reason = "tables are written with `json!`"
)]

mod costs;
mod objects;
mod properties;
mod rules;
mod schemas;
