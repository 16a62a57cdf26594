//! Outcomes for people: a table, and a page with plots.

mod html;
mod svg;
mod table;
mod units;

pub use html::page;
pub use table::{markdown, table};
