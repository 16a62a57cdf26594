//! What every [`ObjectStore`] must do, as one suite. Each check panics with what it expected and what it found.
//!
//! Run it from a test against a store of your own. It writes below `prefix` only, leaves nothing behind when it
//! passes, and needs a prefix that nobody else uses. It assumes a healthy store: faults are not its subject.
//!
//! [`strict_order`] is apart: the order of keys where folders have neighbours such as `a-b` beside `a/`. AWS, the
//! local store and the memory store keep it, some S3 servers do not, and nothing in this crate depends on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;

use super::{Body, GetRange, Object, ObjectMeta, ObjectStore, PutMode, StoreError, StoreErrorKind, Version};

/// Writers that race in one check.
const RACERS: usize = 6;
/// Size of the large object: well above any buffer on the way.
const LARGE: usize = (8 << 20) + 12_345;

/// Runs all checks; panics at the first that fails.
pub async fn conformance(store: Arc<dyn ObjectStore>, prefix: &str) {
    let suite = Suite { store, prefix: prefix.to_owned() };
    suite.bodies_of_any_shape_come_back().await;
    suite.ranges_and_tails_are_exact().await;
    suite.a_missing_object_is_not_found().await;
    suite.create_takes_only_a_free_key().await;
    suite.replace_takes_only_the_expected_version().await;
    suite.one_of_many_creates_wins().await;
    suite.one_of_many_replaces_wins().await;
    suite.lists_are_in_key_order().await;
    suite.delete_may_be_repeated().await;
    suite.bad_keys_are_refused().await;
    suite.a_large_object_comes_back().await;
    let left = suite.list("", None, usize::MAX).await;
    assert!(left.is_empty(), "objects left behind: {left:?}");
}

/// Checks that listings follow the order of whole keys whatever folders are called; panics if they do not.
pub async fn strict_order(store: Arc<dyn ObjectStore>, prefix: &str) {
    let suite = Suite { store, prefix: prefix.to_owned() };
    // `-` and `.` sort before `/`, digits and letters after it: folders and their neighbours must not change places.
    let names = ["l/a/1", "l/a/2", "l/a-b/1", "l/a.c/1", "l/a0", "l/ab/c/d/e", "l/B", "l/z/00000000000000000009"];
    let prefixes = ["l/", "l", "l/a", "l/a/", "l/a-", "l/z/0", "l/nothing"];
    let afters = ["l", "l/a", "l/a/1", "l/a/15", "l/a-b", "l/a0", "l/ab/c", "l/z/00000000000000000009", "l/zz"];
    suite.check_listings(&names, &prefixes, &afters).await;
}

struct Suite {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

fn body(bytes: &[u8]) -> Body {
    Bytes::copy_from_slice(bytes).into()
}

#[track_caller]
fn assert_kind<T: std::fmt::Debug>(result: Result<T, StoreError>, expected: StoreErrorKind, what: &str) {
    match result {
        Err(e) if e.kind == expected => {}
        other => panic!("{what}: expected {expected:?}, found {other:?}"),
    }
}

impl Suite {
    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    async fn put(&self, name: &str, bytes: &[u8], mode: PutMode) -> Result<Version, StoreError> {
        self.store.put(&self.key(name), body(bytes), mode).await
    }

    async fn create(&self, name: &str, bytes: &[u8]) -> Version {
        self.put(name, bytes, PutMode::Create).await.unwrap_or_else(|e| panic!("create of {name:?}: {e}"))
    }

    async fn get(&self, name: &str, range: GetRange) -> Object {
        let result = self.store.get(&self.key(name), range.clone()).await;
        result.unwrap_or_else(|e| panic!("get of {name:?}, {range:?}: {e}"))
    }

    async fn list(&self, name: &str, start_after: Option<&str>, limit: usize) -> Vec<ObjectMeta> {
        let start_after = start_after.map(|name| self.key(name));
        let result = self.store.list(&self.key(name), start_after.as_deref(), limit).await;
        result.unwrap_or_else(|e| panic!("list of {name:?}: {e}"))
    }

    async fn delete(&self, names: &[&str]) {
        let keys: Vec<_> = names.iter().map(|name| self.key(name)).collect();
        self.store.delete(&keys).await.unwrap_or_else(|e| panic!("delete of {keys:?}: {e}"));
    }

    async fn bodies_of_any_shape_come_back(&self) {
        let chunks: Vec<_> = (0..2_500_usize).map(|i| Bytes::from(vec![i as u8; i % 7])).collect();
        let joined: Vec<u8> = chunks.concat();
        let shapes = [
            ("no-chunk", Body::with_crc32(vec![], 0), vec![]),
            ("empty-chunk", body(b""), vec![]),
            ("one-chunk", body(b"one"), b"one".to_vec()),
            ("many-chunks", Body::with_crc32(chunks, crc32fast::hash(&joined)), joined),
        ];
        for (name, body, expected) in shapes {
            let version = self.store.put(&self.key(name), body, PutMode::Create).await.unwrap_or_else(|e| panic!("put of {name}: {e}"));
            let object = self.get(name, GetRange::Full).await;
            assert!(object.bytes == expected, "{name}: other bytes came back: {} instead of {}", object.bytes.len(), expected.len());
            assert_eq!((object.position, object.size), (0, expected.len() as u64), "position and size of {name}");
            assert_eq!(object.version, version, "version of {name}: get and put differ");
            let meta = self.store.head(&self.key(name)).await.unwrap_or_else(|e| panic!("head of {name}: {e}"));
            assert_eq!((meta.key, meta.size, meta.version), (self.key(name), object.size, Some(version)), "head of {name}");
        }
        let tail = self.get("no-chunk", GetRange::Tail(10)).await;
        assert!(tail.bytes.is_empty() && tail.size == 0, "the tail of an empty object is empty, found {tail:?}");
        assert_kind(
            self.store.get(&self.key("no-chunk"), GetRange::Bounded(0..1)).await,
            StoreErrorKind::NotFound,
            "range of an empty object",
        );
        self.delete(&["no-chunk", "empty-chunk", "one-chunk", "many-chunks"]).await;
    }

    async fn ranges_and_tails_are_exact(&self) {
        let bytes: Vec<u8> = (0..=255).collect();
        let version = self.create("ranges", &bytes).await;
        let cases = [
            (GetRange::Full, 0..256),
            (GetRange::Bounded(0..1), 0..1),
            (GetRange::Bounded(10..20), 10..20),
            (GetRange::Bounded(255..256), 255..256),
            (GetRange::Bounded(250..1_000), 250..256),
            (GetRange::Bounded(0..u64::MAX), 0..256),
            (GetRange::Tail(1), 255..256),
            (GetRange::Tail(256), 0..256),
            (GetRange::Tail(5_000), 0..256),
        ];
        for (range, expected) in cases {
            let object = self.get("ranges", range.clone()).await;
            assert_eq!((object.position, object.size), (expected.start as u64, 256), "position and size of {range:?}");
            assert_eq!(object.bytes[..], bytes[expected], "bytes of {range:?}");
            assert_eq!(object.version, version, "version of {range:?}");
        }
        let key = self.key("ranges");
        for start in [256, 257, 1 << 40] {
            let result = self.store.get(&key, GetRange::Bounded(start..start + 1)).await;
            assert_kind(result, StoreErrorKind::NotFound, "a range that starts at or past the end");
        }
        for empty in [GetRange::Bounded(7..7), GetRange::Tail(0)] {
            assert_kind(self.store.get(&key, empty).await, StoreErrorKind::Refused, "a range of no bytes");
        }
        self.delete(&["ranges"]).await;
    }

    async fn a_missing_object_is_not_found(&self) {
        let key = self.key("missing");
        for range in [GetRange::Full, GetRange::Bounded(0..1), GetRange::Tail(1)] {
            assert_kind(self.store.get(&key, range).await, StoreErrorKind::NotFound, "get of a missing object");
        }
        assert_kind(self.store.head(&key).await, StoreErrorKind::NotFound, "head of a missing object");
    }

    async fn create_takes_only_a_free_key(&self) {
        let version = self.create("create", b"first").await;
        assert_kind(self.put("create", b"second", PutMode::Create).await, StoreErrorKind::AlreadyExists, "a second create");
        let object = self.get("create", GetRange::Full).await;
        assert_eq!((&object.bytes[..], object.version), (&b"first"[..], version), "a refused create changed the object");
        self.delete(&["create"]).await;
        self.create("create", b"again").await;
        assert_eq!(&self.get("create", GetRange::Full).await.bytes[..], b"again", "a create after a delete");
        self.delete(&["create"]).await;
    }

    async fn replace_takes_only_the_expected_version(&self) {
        let first = self.create("replace", b"1").await;
        let second = self.put("replace", b"22", PutMode::Replace(first.clone())).await.expect("replace on the version at hand");
        assert_ne!(first, second, "a replace must change the version");
        assert_kind(
            self.put("replace", b"x", PutMode::Replace(first)).await,
            StoreErrorKind::VersionMismatch,
            "replace on a stale version",
        );
        let object = self.get("replace", GetRange::Full).await;
        assert_eq!((&object.bytes[..], &object.version), (&b"22"[..], &second), "after a refused replace");
        let third = self.put("replace", b"33", PutMode::Replace(second.clone())).await.expect("replace by as many bytes");
        assert_ne!(second, third, "a replace by as many bytes must change the version");
        self.delete(&["replace"]).await;
        assert_kind(
            self.put("replace", b"x", PutMode::Replace(third.clone())).await,
            StoreErrorKind::VersionMismatch,
            "replace of a deleted object",
        );
        assert_kind(self.put("never", b"x", PutMode::Replace(third)).await, StoreErrorKind::VersionMismatch, "replace of a missing object");
        assert!(self.list("", None, usize::MAX).await.is_empty(), "a refused replace left an object");
    }

    /// Every racer's body is distinct, of all rounds, so the bytes tell who won: and where versions depend on the content alone, nobody puts
    /// back what an earlier round has left, which would leave the version as it was for another to replace.
    async fn race(&self, name: &str, round: usize, mode: PutMode, loser: StoreErrorKind) {
        let bytes = move |racer: usize| [(round * RACERS + racer) as u8; 100];
        let racers = (0..RACERS).map(|i| {
            let (store, key, mode) = (self.store.clone(), self.key(name), mode.clone());
            tokio::spawn(async move { (i, store.put(&key, body(&bytes(i)), mode).await) })
        });
        let results: Vec<_> = join_all(racers).await.into_iter().map(|r| r.expect("a racer does not panic")).collect();
        let object = self.get(name, GetRange::Full).await;
        let winners: Vec<_> = results.iter().filter(|(_, result)| result.is_ok()).collect();
        assert!(winners.len() == 1, "{mode:?} by {RACERS} at once: exactly one must win, found {results:?}");
        let (winner, version) = winners[0];
        assert_eq!(object.bytes[..], bytes(*winner), "the bytes are not those of the winner");
        assert_eq!(Ok(&object.version), version.as_ref().map_err(|e| e.kind), "the version is not that of the winner");
        for (_, result) in results.into_iter().filter(|(_, result)| result.is_err()) {
            assert_kind(result, loser, "the answer to who came too late");
        }
    }

    async fn one_of_many_creates_wins(&self) {
        for round in 0..3 {
            let name = format!("race-create-{round}");
            self.race(&name, round, PutMode::Create, StoreErrorKind::AlreadyExists).await;
            self.delete(&[&name]).await;
        }
    }

    async fn one_of_many_replaces_wins(&self) {
        self.create("race-replace", b"start").await;
        for round in 0..3 {
            let version = self.get("race-replace", GetRange::Full).await.version;
            self.race("race-replace", round, PutMode::Replace(version), StoreErrorKind::VersionMismatch).await;
        }
        self.delete(&["race-replace"]).await;
    }

    async fn lists_are_in_key_order(&self) {
        // As the log and the catalog name their objects; leaves may be called anything.
        let names = [
            "l/000/0008",
            "l/000/0009",
            "l/001/1000",
            "l/001/1001",
            "l/003/3000",
            "l/meta/B",
            "l/meta/a",
            "l/meta/a-b",
            "l/meta/a.b",
            "l/meta/ab",
        ];
        let prefixes = ["l/", "l", "l/00", "l/001/", "l/001/1001", "l/meta/a", "l/nothing"];
        let afters = [
            "l/000/0007",
            "l/000/0008",
            "l/000/0009",
            "l/000/9999",
            "l/001/1000",
            "l/002/2000",
            "l/003/3000",
            "l/meta/a",
            "l/meta/a-a",
            "l/z/z",
        ];
        self.check_listings(&names, &prefixes, &afters).await;
    }

    async fn check_listings(&self, names: &[&str], prefixes: &[&str], afters: &[&str]) {
        join_all(names.iter().map(|name| self.create(name, name.as_bytes()))).await;
        let sorted: BTreeSet<_> = names.iter().copied().collect();
        let keys = |metas: Vec<ObjectMeta>| metas.into_iter().map(|meta| meta.key).collect::<Vec<_>>();
        let expected = |filter: &dyn Fn(&str) -> bool| sorted.iter().filter(|n| filter(n)).map(|n| self.key(n)).collect::<Vec<_>>();
        for meta in self.list("l/", None, usize::MAX).await {
            let name = &meta.key[self.prefix.len() + 1..];
            assert_eq!(meta.size, name.len() as u64, "size of {name} in a listing");
            if let Some(version) = meta.version {
                assert_eq!(version, self.get(name, GetRange::Full).await.version, "version of {name} in a listing");
            }
        }
        for prefix in prefixes {
            assert_eq!(keys(self.list(prefix, None, usize::MAX).await), expected(&|n| n.starts_with(prefix)), "list of {prefix:?}");
            for after in afters {
                let found = keys(self.list(prefix, Some(after), usize::MAX).await);
                assert_eq!(found, expected(&|n| n > *after && n.starts_with(prefix)), "list of {prefix:?} after {after:?}");
            }
        }
        for limit in 0..=sorted.len() + 1 {
            let first = expected(&|_| true).into_iter().take(limit).collect::<Vec<_>>();
            assert_eq!(keys(self.list("l/", None, limit).await), first, "list of at most {limit}");
        }
        self.delete(names).await;
    }

    async fn delete_may_be_repeated(&self) {
        self.create("delete", b"x").await;
        self.delete(&["delete", "delete-missing"]).await;
        self.delete(&["delete"]).await;
        self.store.delete(&[]).await.expect("delete of nothing");
        assert_kind(self.store.head(&self.key("delete")).await, StoreErrorKind::NotFound, "head after delete");
    }

    async fn bad_keys_are_refused(&self) {
        let bad = ["", "../other/x", "a/../b", "a b", "a\0b", "a//b", "/a", "a/", ".", "..", "a\\b", "caf\u{e9}", "a?b", "a%2Fb"];
        let long = "k".repeat(super::MAX_KEY_BYTES + 1);
        for key in bad.into_iter().chain([long.as_str()]) {
            let what = format!("the key {:?}", &key[..key.len().min(20)]);
            assert_kind(self.store.put(key, body(b"x"), PutMode::Create).await, StoreErrorKind::Refused, &what);
            assert_kind(self.store.get(key, GetRange::Full).await, StoreErrorKind::Refused, &what);
            assert_kind(self.store.head(key).await, StoreErrorKind::Refused, &what);
            assert_kind(self.store.delete(&[key.to_owned()]).await, StoreErrorKind::Refused, &what);
        }
        assert_kind(self.store.list("../", None, 1).await, StoreErrorKind::Refused, "the prefix ../");
    }

    async fn a_large_object_comes_back(&self) {
        let bytes: Vec<u8> = (0..LARGE as u32).flat_map(|i| [(i.wrapping_mul(2_654_435_761) >> 24) as u8]).collect();
        let chunks: Vec<_> = bytes.chunks(100_000).map(Bytes::copy_from_slice).collect();
        let body = Body::with_crc32(chunks, crc32fast::hash(&bytes));
        self.store.put(&self.key("large"), body, PutMode::Create).await.unwrap_or_else(|e| panic!("put of {LARGE} bytes: {e}"));
        let object = self.get("large", GetRange::Full).await;
        assert!(object.bytes == bytes, "{LARGE} bytes: others came back");
        let middle = self.get("large", GetRange::Bounded(1_000_000..5_000_000)).await;
        assert!(middle.bytes == bytes[1_000_000..5_000_000], "the middle of {LARGE} bytes: others came back");
        let tail = self.get("large", GetRange::Tail(3_000_000)).await;
        assert!(tail.bytes == bytes[LARGE - 3_000_000..], "the tail of {LARGE} bytes: others came back");
        self.delete(&["large"]).await;
    }
}
