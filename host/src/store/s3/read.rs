//! A get that watches its body: slow is fine, silent is not.
//!
//! A body that gives no byte for the time-out is dropped and asked for again from where it stood, with `If-Match`
//! on the version it began with, so that what comes back is always of one state of the object.

use std::ops::Range;
use std::time::Duration;

use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use bytes::{Bytes, BytesMut};

use super::errors::classify;
use super::{S3Store, e_tag, no_e_tag, version};
use crate::env;
use crate::store::key::MAX_OBJECT_BYTES;
use crate::store::{GetRange, Object, ObjectStore, Operation, StoreError, StoreErrorKind, Version};

/// Where the bytes of an answer lie.
struct Answer {
    body: ByteStream,
    position: u64,
    end: u64,
    size: u64,
    version: Version,
}

pub(super) async fn get(store: &S3Store, key: &str, range: &GetRange) -> Result<Object, StoreError> {
    let began = env::now();
    let answer = match request(store, key, header(range), None).await {
        Err(e) if e.kind == StoreErrorKind::NotFound && matches!(range, GetRange::Tail(_)) => return empty_tail(store, key, e).await,
        answer => answer?,
    };
    check(key, range, &answer)?;
    let first_byte = env::now() - began;
    let Answer { body, position, end, size, version } = answer;
    let bytes = read_all(store, key, position..end, &version, body).await?;
    store.metrics.store.recent.downloaded(bytes.len() as u64, first_byte, env::now() - began);
    Ok(Object { bytes, position, size, version })
}

fn header(range: &GetRange) -> Option<String> {
    match range {
        GetRange::Full => None,
        GetRange::Bounded(range) => Some(format!("bytes={}-{}", range.start, last_of(range))),
        GetRange::Tail(bytes) => Some(format!("bytes=-{bytes}")),
    }
}

/// Servers read positions as signed numbers, and take a larger one for an error.
fn last_of(range: &Range<u64>) -> u64 {
    (range.end - 1).min(i64::MAX as u64).max(range.start)
}

/// HTTP has no way to say "the last bytes of nothing".
async fn empty_tail(store: &S3Store, key: &str, error: StoreError) -> Result<Object, StoreError> {
    let meta = store.head(key).await.map_err(|e| StoreError { operation: Operation::Get.as_str(), ..e })?;
    match meta.version {
        Some(version) if meta.size == 0 => Ok(Object { bytes: Bytes::new(), position: 0, size: 0, version }),
        _ => Err(error),
    }
}

async fn request(store: &S3Store, key: &str, range: Option<String>, on: Option<&Version>) -> Result<Answer, StoreError> {
    let ranged = range.is_some();
    let answer = store
        .timed(Operation::Get, key, async {
            let request = store.client.get_object().bucket(&store.bucket).key(store.full(key));
            let sent = request.set_range(range).set_if_match(on.map(e_tag)).send().await;
            sent.map_err(|e| classify(Operation::Get, key, None, e))
        })
        .await?;
    parse(key, ranged, answer)
}

fn parse(key: &str, ranged: bool, answer: GetObjectOutput) -> Result<Answer, StoreError> {
    let bad = |kind, message: String| StoreError::new(kind, Operation::Get, key, message);
    let version = answer.e_tag().map(version).ok_or_else(|| no_e_tag(Operation::Get, key))?;
    let (position, end, size) = match answer.content_range() {
        Some(text) => content_range(text).ok_or_else(|| bad(StoreErrorKind::Corrupt, format!("cannot read the content range {text:?}")))?,
        None if ranged => return Err(bad(StoreErrorKind::Unsupported, "the store ignores ranges".to_owned())),
        None => {
            let size = answer.content_length().and_then(|size| u64::try_from(size).ok());
            let size = size.ok_or_else(|| bad(StoreErrorKind::Unsupported, "the store does not say how long the object is".to_owned()))?;
            (0, size, size)
        }
    };
    if end - position > MAX_OBJECT_BYTES {
        return Err(bad(
            StoreErrorKind::Refused,
            format!("{} bytes are more than the {MAX_OBJECT_BYTES} that are read at once", end - position),
        ));
    }
    Ok(Answer { body: answer.body, position, end, size, version })
}

/// `bytes FIRST-LAST/SIZE` as a half-open range and the size.
fn content_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, size): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, size.parse().ok()?);
    (first <= last && last < size).then(|| (first, last + 1, size))
}

/// The answer must be what was asked for: no more, and from where it was asked.
fn check(key: &str, range: &GetRange, answer: &Answer) -> Result<(), StoreError> {
    let expected = match range {
        GetRange::Full => 0..answer.size,
        GetRange::Bounded(range) => range.start..range.end.min(answer.size),
        GetRange::Tail(bytes) => answer.size.saturating_sub(*bytes)..answer.size,
    };
    if expected == (answer.position..answer.end) {
        return Ok(());
    }
    let message = format!("asked for {expected:?} of {} bytes, the store answered {}..{}", answer.size, answer.position, answer.end);
    Err(StoreError::new(StoreErrorKind::Corrupt, Operation::Get, key, message))
}

async fn read_all(store: &S3Store, key: &str, positions: Range<u64>, version: &Version, mut body: ByteStream) -> Result<Bytes, StoreError> {
    let wanted = (positions.end - positions.start) as usize;
    let mut bytes = BytesMut::with_capacity(wanted);
    let mut failures = 0;
    loop {
        let before = bytes.len();
        let Err(problem) = pull(&mut body, &mut bytes, wanted, store.timeout).await else { return Ok(bytes.freeze()) };
        // A body that keeps breaking off but moves on in between is slow, not dead.
        failures = if bytes.len() > before { 1 } else { failures + 1 };
        if failures >= store.tries {
            let message = format!("the body broke off {failures} times at {} of {wanted} bytes: {problem}", bytes.len());
            return Err(StoreError::new(StoreErrorKind::OutcomeUnknown, Operation::Get, key, message));
        }
        let rest = positions.start + bytes.len() as u64..positions.end;
        body = resume(store, key, rest, version).await?;
    }
}

async fn resume(store: &S3Store, key: &str, rest: Range<u64>, on: &Version) -> Result<ByteStream, StoreError> {
    let range = GetRange::Bounded(rest);
    let answer = match request(store, key, header(&range), Some(on)).await {
        Err(e) if e.kind == StoreErrorKind::VersionMismatch => {
            return Err(StoreError {
                kind: StoreErrorKind::Unavailable,
                message: "the object was replaced while it was read".to_owned(),
                ..e
            });
        }
        answer => answer?,
    };
    check(key, &range, &answer)?;
    if answer.version != *on {
        let message = format!("the store answered version {} to If-Match of {}", answer.version.0, on.0);
        return Err(StoreError::new(StoreErrorKind::Unsupported, Operation::Get, key, message));
    }
    Ok(answer.body)
}

/// Reads up to `wanted` bytes; says why it stopped before.
async fn pull(body: &mut ByteStream, bytes: &mut BytesMut, wanted: usize, stall: Duration) -> Result<(), String> {
    loop {
        match tokio::time::timeout(stall, body.next()).await {
            Err(_) => return Err(format!("no byte for {} ms", stall.as_millis())),
            Ok(Some(Err(e))) => return Err(e.to_string()),
            Ok(None) if bytes.len() == wanted => return Ok(()),
            Ok(None) => return Err("it ended early".to_owned()),
            Ok(Some(Ok(chunk))) if bytes.len() + chunk.len() > wanted => return Err("it is longer than announced".to_owned()),
            Ok(Some(Ok(chunk))) => bytes.extend_from_slice(&chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn content_ranges_are_checked() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, 10, 10)));
        for bad in [
            "bytes 5-10/10",
            "bytes 9-5/10",
            "bytes */10",
            "bytes 0-1/*",
            "5-9/10",
            "bytes 0-18446744073709551615/18446744073709551615",
            "",
        ] {
            assert_eq!(content_range(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_content_range_panics(text in "(bytes )?[0-9]{0,21}[-/*]?[0-9]{0,21}[-/*]?[0-9]{0,21}") {
            let _ = content_range(&text);
        }
    }
}
