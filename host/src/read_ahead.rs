//! read_ahead
