//! The built-in policies.
