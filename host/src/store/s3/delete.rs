//! Deleting many keys: batches, in which each key succeeds or fails by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_s3::types::{Delete, Error as KeyError, ObjectIdentifier};

use super::S3Store;
use super::errors::{by_code, classify};
use crate::store::{Operation, StoreError, StoreErrorKind};

/// What S3 takes at once.
const BATCH: usize = 1_000;
/// Rounds for one batch. A round that confirms no key is the last.
const ROUNDS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Keys that were confirmed are not sent again.
pub(super) async fn delete(store: &S3Store, keys: &[String]) -> Result<(), StoreError> {
    for batch in keys.chunks(BATCH) {
        let mut left: BTreeSet<String> = batch.iter().map(|key| store.full(key)).collect();
        for round in 1..=ROUNDS {
            let before = left.len();
            let error = match one_round(store, &batch[0], &mut left).await? {
                None => break,
                Some(error) => error,
            };
            if left.len() == before || round == ROUNDS || !error.kind.is_transient() {
                return Err(error);
            }
            tokio::time::sleep(store.env.jittered(PAUSE * round)).await;
        }
    }
    Ok(())
}

/// Keeps in `left` what is to be asked again; answers an error of one of them.
async fn one_round(store: &S3Store, first: &str, left: &mut BTreeSet<String>) -> Result<Option<StoreError>, StoreError> {
    let failed = |e: &dyn std::fmt::Display| StoreError::new(StoreErrorKind::Refused, Operation::Delete, first, e.to_string());
    let identifiers = left.iter().map(|key| ObjectIdentifier::builder().key(key).build());
    let objects = identifiers.collect::<Result<Vec<_>, _>>().map_err(|e| failed(&e))?;
    let request = Delete::builder().set_objects(Some(objects)).quiet(true).build().map_err(|e| failed(&e))?;
    let answer = store
        .timed(Operation::Delete, first, async {
            let sent = store.client.delete_objects().bucket(&store.bucket).delete(request).send().await;
            sent.map_err(|e| classify(Operation::Delete, first, None, e))
        })
        .await?;
    let errors: Vec<_> = answer.errors.unwrap_or_default().into_iter().filter(|e| e.code() != Some("NoSuchKey")).collect();
    let named: BTreeSet<_> = errors.iter().filter_map(|e| e.key.clone()).collect();
    left.retain(|key| named.contains(key));
    // A key that still fails for good weighs more than one that was throttled.
    let worst = errors.iter().map(|e| key_error(store, first, e)).min_by_key(|e| e.kind.is_transient());
    Ok(worst.map(|e| StoreError { message: format!("{} of the keys were not deleted, such as: {}", left.len(), e.message), ..e }))
}

fn key_error(store: &S3Store, first: &str, error: &KeyError) -> StoreError {
    let code = error.code().unwrap_or("");
    let kind = by_code(code).unwrap_or(match code {
        "InternalError" | "" => StoreErrorKind::Unavailable,
        _ => StoreErrorKind::Refused,
    });
    let key = error.key().map_or(first, |key| key.strip_prefix(&store.prefix).unwrap_or(key));
    StoreError::new(kind, Operation::Delete, key, format!("{code}: {}", error.message().unwrap_or("")))
}
