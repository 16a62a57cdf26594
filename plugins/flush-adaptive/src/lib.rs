//! A policy.
