//! Guards.
