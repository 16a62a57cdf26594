//! InitProducerId: an id for an idempotent producer, or the next epoch of the one it has.
//!
//! There are no transactions. A producer with a transactional id is told that it has no right to it: of all codes that is
//! the one that every client takes as final, where others would be tried again for ever.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse};

use super::{Service, Session};
use crate::errors;

/// What a producer without an id, or without an epoch, says.
const NONE: i64 = -1;

/// What a producer asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    /// A new id, at epoch 0.
    New,
    /// The next epoch of its id.
    Next(i64, i16),
}

impl Service {
    pub(super) async fn init_producer_id(&self, session: &Session, request: InitProducerIdRequest) -> InitProducerIdResponse {
        let wanted = wanted(&request).and_then(|wanted| self.authorize_producer(session).map(|()| wanted));
        let given = match wanted {
            Ok(Wanted::New) => self.storage.new_producer_id().await.map(|id| (id, 0)).map_err(|error| errors::of(error.kind())),
            Ok(Wanted::Next(id, epoch)) => Ok((id, epoch)),
            Err(error) => Err(error),
        };
        let answer = InitProducerIdResponse::default();
        match given {
            Ok((id, epoch)) => answer.with_producer_id(id.into()).with_producer_epoch(epoch),
            Err(error) => answer.with_error_code(error.code()).with_producer_id(NONE.into()).with_producer_epoch(-1),
        }
    }
}

fn wanted(request: &InitProducerIdRequest) -> Result<Wanted, ResponseError> {
    if request.transactional_id.as_ref().is_some_and(|id| id.is_empty()) {
        return Err(ResponseError::InvalidRequest);
    }
    if request.transactional_id.is_some() {
        return Err(ResponseError::TransactionalIdAuthorizationFailed);
    }
    match (request.producer_id.0, request.producer_epoch) {
        (NONE, -1) => Ok(Wanted::New),
        // The last epoch is never given out, so that there is one to fence with.
        (0.., epoch) if epoch >= i16::MAX - 1 => Ok(Wanted::New),
        (id @ 0.., epoch @ 0..) => Ok(Wanted::Next(id, epoch + 1)),
        _ => Err(ResponseError::InvalidRequest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: i64, epoch: i16) -> Result<Wanted, ResponseError> {
        wanted(&InitProducerIdRequest::default().with_transactional_id(None).with_producer_id(id.into()).with_producer_epoch(epoch))
    }

    #[test]
    fn an_epoch_goes_on_until_it_is_exhausted() {
        assert_eq!(asked(-1, -1), Ok(Wanted::New));
        assert_eq!(asked(7, 0), Ok(Wanted::Next(7, 1)));
        assert_eq!(asked(7, i16::MAX - 2), Ok(Wanted::Next(7, i16::MAX - 1)));
        assert_eq!(asked(7, i16::MAX - 1), Ok(Wanted::New));
        assert_eq!(asked(7, i16::MAX), Ok(Wanted::New));
        for (id, epoch) in [(7, -1), (-1, 0), (-2, -1), (i64::MIN, i16::MIN), (3, -2)] {
            assert_eq!(asked(id, epoch), Err(ResponseError::InvalidRequest), "{id} {epoch}");
        }
    }
}
