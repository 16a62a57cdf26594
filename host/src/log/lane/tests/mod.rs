//! The commit protocol, rule by rule, on a scripted store in virtual time. docs/commit.md says which test fails without which rule.

mod kit;
mod leaders;
mod openings;
mod producers;
mod snapshots;
mod trims;
mod uploads;
