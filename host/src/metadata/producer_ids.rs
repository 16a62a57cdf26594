//! Numbers for idempotent producers: one object counts them, `meta/producer-ids`.
//!
//! A block is given only once the count behind it is known to be stored by this very write. So what happens to the
//! network may cost a block, and never gives one twice.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::document::{Document, read, write};
use crate::env::Env;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{ObjectStore, PutMode};

const KEY: &str = "meta/producer-ids";
/// Rounds against others that take ids.
const ROUNDS: u32 = 16;

/// What the object holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Count {
    /// The first id that nobody was given.
    next: i64,
}

/// Takes a block of `count` ids.
pub(super) async fn take(store: &dyn ObjectStore, env: &Env, count: u32) -> Result<Range<i64>> {
    for _ in 0..ROUNDS {
        let (next, mode) = match read::<Count>(store, KEY).await? {
            None => (0, PutMode::Create),
            Some((document, version)) => (stored(document)?, PutMode::Replace(version)),
        };
        let end = next.checked_add(count.into()).ok_or_else(|| Error::new(ErrorKind::Unsupported, "all producer ids are given away"))?;
        if write(store, KEY, &Document::new(env.nonce(), Some(Count { next: end })), mode).await?.is_some() {
            return Ok(next..end);
        }
    }
    Err(Error::new(ErrorKind::Unavailable, format!("{KEY:?} was changed by others {ROUNDS} times in a row; try again")))
}

fn stored(document: Document<Count>) -> Result<i64> {
    document.value.map(|count| count.next).filter(|next| *next >= 0).ok_or_else(|| {
        let message = format!("the metadata object {KEY:?} holds no count; restore it from a backup, or no producer gets an id");
        Error::new(ErrorKind::Corrupt, message)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::{Fault, MemoryStore, Operation, Request, StoreErrorKind};

    /// Puts meet these faults again and again, one after the other.
    fn puts_meet(memory: &MemoryStore, faults: Vec<Fault>) {
        let mut faults = faults.into_iter().cycle();
        memory.set_script(move |r: &Request<'_>| match r.operation {
            Operation::Put => faults.next().unwrap_or_else(Fault::none),
            _ => Fault::none(),
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_reply_may_cost_ids_and_never_gives_one_twice() {
        let memory = MemoryStore::default();
        let env = Env::simulated(1, 0);
        let late = Fault::late(std::time::Duration::from_secs(7));
        let lost = Fault::fail(StoreErrorKind::OutcomeUnknown);
        puts_meet(&memory, vec![Fault::lost_reply(), Fault::none(), lost.clone(), late, lost, Fault::none()]);
        let (mut given, mut blocks) = (BTreeSet::new(), 0);
        for _ in 0..200 {
            if let Ok(block) = take(&memory, &env, 10).await {
                blocks += 1;
                block.for_each(|id| assert!(given.insert(id), "id {id} was given twice"));
            }
            tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        }
        assert!(blocks > 100, "only {blocks} blocks were given");
    }

    #[tokio::test]
    async fn what_cannot_be_read_gives_no_id_and_is_not_overwritten() {
        let memory = MemoryStore::default();
        for (stored, kind) in [
            ("{}", ErrorKind::Corrupt),
            (r#"{"format":1,"nonce":"0","value":null}"#, ErrorKind::Corrupt),
            (r#"{"format":1,"nonce":"0","value":{"next":-1}}"#, ErrorKind::Corrupt),
            (r#"{"format":2}"#, ErrorKind::Unsupported),
            (r#"{"format":1,"nonce":"0","value":{"next":9223372036854775807}}"#, ErrorKind::Unsupported),
        ] {
            memory.insert(KEY, stored);
            assert_eq!(take(&memory, &Env::simulated(1, 0), 1).await.unwrap_err().kind(), kind, "{stored}");
            assert_eq!(memory.snapshot()[KEY], stored);
        }
    }

    #[test]
    fn format_1_is_read_for_ever() {
        let stored = br#"{"format":1,"nonce":"0000000000000000000000000000002a","value":{"next":1000}}"#;
        let document: Document<Count> = serde_json::from_slice(stored).unwrap();
        assert_eq!(document, Document::new(crate::types::Nonce(42), Some(Count { next: 1_000 })));
    }
}
