//! Host errors in the words of the protocol.
//!
//! | host | answer to a producer | to a reader | why |
//! |---|---|---|---|
//! | record set: empty, malformed, of an old magic | INVALID_RECORD | - | the producer's fault, final |
//! | record set: wrong CRC | CORRUPT_MESSAGE | - | damaged on the way: clients send it again |
//! | record set: too large | MESSAGE_TOO_LARGE | - | clients split the batch |
//! | producer: sequence out of order | OUT_OF_ORDER_SEQUENCE_NUMBER | - | clients send what is missing first, or give up |
//! | producer: older epoch | INVALID_PRODUCER_EPOCH | - | a newer instance of the producer has taken over |
//! | producer: sets of several | INVALID_RECORD | - | the producer's fault, final |
//! | InvalidInput (other) | INVALID_REQUEST | INVALID_REQUEST | final |
//! | NotFound | UNKNOWN_TOPIC_OR_PARTITION | the same | clients refresh their metadata |
//! | AlreadyExists, Conflict | TOPIC_ALREADY_EXISTS | - | |
//! | OffsetOutOfRange | OFFSET_OUT_OF_RANGE | the same | clients reset |
//! | NotLeader, Closed | NOT_LEADER_OR_FOLLOWER | the same | clients look for the leader and try again |
//! | Busy | REQUEST_TIMED_OUT | the same | tried again, without looking for another leader |
//! | OutcomeUnknown | REQUEST_TIMED_OUT | - | just what the code means: it may have happened |
//! | Unavailable | KAFKA_STORAGE_ERROR | the same | tried again |
//! | OutcomeUnknown, since the store is full | KAFKA_STORAGE_ERROR | - | tried again; a person may read why in the client's log |
//! | Corrupt | KAFKA_STORAGE_ERROR | CORRUPT_MESSAGE | stored bytes are bad: a producer cannot mend them, a reader must be told |
//! | Unsupported | UNSUPPORTED_VERSION | the same | final |

use kafka_protocol::ResponseError;
use tidegate::record::RecordError;
use tidegate::runtime::ProducerError;
use tidegate::store::{StoreError, StoreErrorKind};
use tidegate::{Error, ErrorKind};

/// The code for a failed append.
pub(crate) fn of_append(error: &Error) -> ResponseError {
    if let Some(refused) = error.cause::<ProducerError>() {
        return of_producer(refused);
    }
    if error.cause::<StoreError>().is_some_and(|refused| refused.kind == StoreErrorKind::Full) {
        return ResponseError::KafkaStorageError;
    }
    match error.cause::<RecordError>() {
        Some(RecordError::Empty | RecordError::Malformed { .. } | RecordError::OldMagic { .. }) => ResponseError::InvalidRecord,
        Some(RecordError::WrongCrc { .. }) => ResponseError::CorruptMessage,
        Some(RecordError::TooLarge { .. }) => ResponseError::MessageTooLarge,
        None => of(error.kind()),
    }
}

fn of_producer(error: &ProducerError) -> ResponseError {
    match error {
        ProducerError::OutOfOrderSequence { .. } => ResponseError::OutOfOrderSequenceNumber,
        ProducerError::FencedEpoch { .. } => ResponseError::InvalidProducerEpoch,
        ProducerError::MixedSet => ResponseError::InvalidRecord,
    }
}

/// The code for a failed read.
pub(crate) fn of_read(error: &Error) -> ResponseError {
    match error.kind() {
        ErrorKind::Corrupt => ResponseError::CorruptMessage,
        kind => of(kind),
    }
}

/// The code for a failure of anything else.
pub(crate) fn of(kind: ErrorKind) -> ResponseError {
    match kind {
        ErrorKind::InvalidInput => ResponseError::InvalidRequest,
        ErrorKind::NotFound => ResponseError::UnknownTopicOrPartition,
        ErrorKind::AlreadyExists | ErrorKind::Conflict => ResponseError::TopicAlreadyExists,
        ErrorKind::OffsetOutOfRange => ResponseError::OffsetOutOfRange,
        ErrorKind::NotLeader | ErrorKind::Closed => ResponseError::NotLeaderOrFollower,
        ErrorKind::Busy | ErrorKind::OutcomeUnknown => ResponseError::RequestTimedOut,
        ErrorKind::Unavailable | ErrorKind::Corrupt => ResponseError::KafkaStorageError,
        ErrorKind::Unsupported => ResponseError::UnsupportedVersion,
    }
}

#[cfg(test)]
mod tests {
    use tidegate::store::Operation;

    use super::*;

    fn refused(cause: RecordError) -> ResponseError {
        of_append(&Error::new(ErrorKind::InvalidInput, "record set refused").with_source(cause))
    }

    #[test]
    fn a_refused_record_set_says_what_the_producer_can_do() {
        let problem = String::new();
        assert_eq!(refused(RecordError::Malformed { position: 0, problem }), ResponseError::InvalidRecord);
        assert_eq!(refused(RecordError::WrongCrc { position: 0, stored: 0, computed: 1 }), ResponseError::CorruptMessage);
        assert_eq!(refused(RecordError::OldMagic { position: 0, magic: 1 }), ResponseError::InvalidRecord);
        assert_eq!(refused(RecordError::TooLarge { position: 0, size: 2, limit: 1 }), ResponseError::MessageTooLarge);
    }

    #[test]
    fn a_producer_out_of_order_is_told_apart_from_one_that_was_fenced() {
        let refused = |cause: ProducerError| of_append(&Error::new(ErrorKind::InvalidInput, "record set refused").with_source(cause));
        let gap = ProducerError::OutOfOrderSequence { producer_id: 1, expected: 2, found: 3 };
        assert_eq!(refused(gap), ResponseError::OutOfOrderSequenceNumber);
        assert_eq!(refused(ProducerError::FencedEpoch { producer_id: 1, current: 2, found: 1 }), ResponseError::InvalidProducerEpoch);
        assert_eq!(refused(ProducerError::MixedSet), ResponseError::InvalidRecord);
    }

    #[test]
    fn what_may_pass_later_is_retriable() {
        use ErrorKind::*;
        for kind in [NotLeader, Unavailable, Busy, OutcomeUnknown, Closed, NotFound] {
            assert!(of(kind).is_retriable(), "{kind:?}");
        }
        for kind in [InvalidInput, Unsupported, AlreadyExists, OffsetOutOfRange] {
            assert!(!of(kind).is_retriable(), "{kind:?}");
        }
    }

    #[test]
    fn a_full_store_is_told_apart_from_a_slow_one() {
        let unknown = |kind| {
            let cause = StoreError::new(kind, Operation::Put, "topics/t/log/1", "it failed");
            of_append(&Error::new(ErrorKind::OutcomeUnknown, "no outcome yet").with_source(cause))
        };
        assert_eq!(unknown(StoreErrorKind::Full), ResponseError::KafkaStorageError);
        assert_eq!(unknown(StoreErrorKind::Unavailable), ResponseError::RequestTimedOut);
    }

    #[test]
    fn bad_stored_bytes_are_told_to_readers_and_not_blamed_on_producers() {
        let corrupt = Error::new(ErrorKind::Corrupt, "segment damaged");
        assert_eq!(of_read(&corrupt), ResponseError::CorruptMessage);
        assert_eq!(of_append(&corrupt), ResponseError::KafkaStorageError);
    }
}
