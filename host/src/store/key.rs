//! What every store checks before it acts: keys, prefixes and ranges.
//!
//! No name reaches a path or a URL unchecked: the alphabet leaves out every character that a file system, a
//! URL or a shell gives a meaning to, and no segment can climb out of its directory.

use std::ops::Range;

use super::{GetRange, Operation, StoreError, StoreErrorKind};

/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// Largest object that is read whole, in bytes: twice the largest segment. A larger one is not ours.
pub const MAX_OBJECT_BYTES: u64 = 512 << 20;

/// Checks a key; [`StoreErrorKind::Refused`] says what is wrong with it.
pub(super) fn check_key(operation: Operation, key: &str) -> Result<(), StoreError> {
    match problem(key) {
        None => Ok(()),
        Some(problem) => Err(refused(operation, key, format!("invalid key: {problem}"))),
    }
}

/// Checks a prefix of keys: empty, whole segments, or whole segments and the beginning of one.
pub(super) fn check_prefix(operation: Operation, prefix: &str) -> Result<(), StoreError> {
    let whole = prefix.strip_suffix('/').unwrap_or(prefix);
    match problem(whole) {
        Some(problem) if !prefix.is_empty() => Err(refused(operation, prefix, format!("invalid prefix: {problem}"))),
        _ => Ok(()),
    }
}

/// Checks that a range asks for at least one byte: an empty one cannot be said in HTTP.
pub(super) fn check_range(key: &str, range: &GetRange) -> Result<(), StoreError> {
    let empty = match range {
        GetRange::Full => false,
        GetRange::Bounded(range) => range.is_empty(),
        GetRange::Tail(bytes) => *bytes == 0,
    };
    if empty { Err(refused(Operation::Get, key, format!("{range:?} asks for no byte"))) } else { Ok(()) }
}

/// The positions that a checked range means in an object of `size` bytes.
pub(super) fn resolve(key: &str, range: &GetRange, size: u64) -> Result<Range<u64>, StoreError> {
    let positions = match range {
        GetRange::Full => 0..size,
        GetRange::Tail(bytes) => size.saturating_sub(*bytes)..size,
        GetRange::Bounded(range) if range.start < size => range.start..range.end.min(size),
        GetRange::Bounded(range) => {
            let message = format!("the range starts at {}, the object has {size} bytes", range.start);
            return Err(StoreError::new(StoreErrorKind::NotFound, Operation::Get, key, message));
        }
    };
    if positions.end - positions.start > MAX_OBJECT_BYTES {
        return Err(refused(Operation::Get, key, format!("{size} bytes are more than the {MAX_OBJECT_BYTES} that are read at once")));
    }
    Ok(positions)
}

fn refused(operation: Operation, key: &str, message: String) -> StoreError {
    let shown: String = key.chars().take(128).collect();
    StoreError::new(StoreErrorKind::Refused, operation, &shown, message)
}

fn problem(key: &str) -> Option<String> {
    if key.is_empty() {
        return Some("it is empty".to_owned());
    }
    if key.len() > MAX_KEY_BYTES {
        return Some(format!("it has {} bytes, at most {MAX_KEY_BYTES} are allowed", key.len()));
    }
    if let Some(c) = key.chars().find(|c| !(c.is_ascii_alphanumeric() || "._-/".contains(*c))) {
        return Some(format!("{c:?} is none of a-z A-Z 0-9 . _ - /"));
    }
    let segment = key.split('/').find(|s| matches!(*s, "" | "." | ".."))?;
    Some(format!("the segment {segment:?} is not allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_climbs_out_of_its_directory() {
        for bad in ["", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.", "a b", "a\0b", "a\\b", "a~b", "ä", &"k".repeat(1025)]
        {
            let error = check_key(Operation::Put, bad).expect_err(bad);
            assert_eq!(error.kind, StoreErrorKind::Refused);
        }
        for good in ["a", "a/b", "a-b_c.d/0", "..a/b..", &"k".repeat(1024)] {
            check_key(Operation::Put, good).expect(good);
        }
    }

    #[test]
    fn a_prefix_may_end_anywhere_but_in_a_dot_segment() {
        for good in ["", "a", "a/", "a/b", ".a"] {
            check_prefix(Operation::List, good).expect(good);
        }
        for bad in ["/", "//", "..", "../", "a/../", "a//", " "] {
            check_prefix(Operation::List, bad).expect_err(bad);
        }
    }

    #[test]
    fn ranges_are_cut_at_the_end() {
        let resolved = |range| resolve("k", &range, 10).map_err(|e| e.kind);
        assert_eq!(resolved(GetRange::Full), Ok(0..10));
        assert_eq!(resolved(GetRange::Tail(3)), Ok(7..10));
        assert_eq!(resolved(GetRange::Tail(30)), Ok(0..10));
        assert_eq!(resolved(GetRange::Bounded(8..30)), Ok(8..10));
        assert_eq!(resolved(GetRange::Bounded(10..11)), Err(StoreErrorKind::NotFound));
        assert!(check_range("k", &GetRange::Tail(0)).is_err());
        assert!(check_range("k", &GetRange::Bounded(4..4)).is_err());
    }
}
