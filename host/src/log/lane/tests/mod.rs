//! The commit protocol, rule by rule, on a scripted store in virtual time. docs/commit.md says which test fails without which rule.

mod kit;
mod leaders;
mod openings;
mod trims;
mod uploads;
